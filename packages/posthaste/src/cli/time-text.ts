/** Times and durations for people. JSON has them exactly. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `12 ms`, `3.4 s`, `2 min 5 s`, `3 h 20 min`, `5 d 2 h`. */
export function durationText(ms: number): string {
  const length = Math.max(0, ms);
  if (length < SECOND) return `${Math.round(length)} ms`;
  if (length < 10 * SECOND) return `${(length / SECOND).toFixed(1)} s`;
  if (length < MINUTE) return `${Math.floor(length / SECOND)} s`;
  if (length < HOUR) return twoParts(length, [MINUTE, "min"], [SECOND, "s"]);
  if (length < DAY) return twoParts(length, [HOUR, "h"], [MINUTE, "min"]);
  return twoParts(length, [DAY, "d"], [HOUR, "h"]);
}

type Unit = readonly [ms: number, name: string];

function twoParts(length: number, [large, name]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((length % large) / small);
  const first = `${Math.floor(length / large)} ${name}`;
  return rest === 0 ? first : `${first} ${rest} ${smallName}`;
}

/** `12 s ago`, `in 3 min`; one unit is enough for a list. */
export function relativeText(at: Date, now: number = Date.now()): string {
  const ms = now - at.getTime();
  const length = Math.abs(ms);
  if (length < SECOND) return "now";
  const [unit, name] = unitOf(length);
  const text = `${Math.floor(length / unit)} ${name}`;
  return ms > 0 ? `${text} ago` : `in ${text}`;
}

function unitOf(length: number): Unit {
  if (length < MINUTE) return [SECOND, "s"];
  if (length < HOUR) return [MINUTE, "min"];
  return length < DAY ? [HOUR, "h"] : [DAY, "d"];
}

/** `2026-11-19 20:12:45.123Z`: local time would differ from the log. */
export function instantText(at: Date): string {
  return at.toISOString().replace("T", " ");
}
