/** next-slot.ts against a walk that asks Intl for the local time of every minute and knows nothing of offsets. */
import { describe, expect, test } from "vitest";
import { nextSlots, type Timing } from "./next-slot.ts";
import type { Pattern } from "./patterns.ts";

const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "America/St_Johns",
  "Africa/Casablanca",
  "Pacific/Apia",
];

const patterns: readonly (readonly [Pattern, (shown: string) => boolean])[] = [
  [{ kind: "daily", hour: 2, minute: 10, second: 0 }, (shown) => shown.endsWith("T02:10")],
  [{ kind: "daily", hour: 0, minute: 0, second: 0 }, (shown) => shown.endsWith("T00:00")],
  [{ kind: "cron", cron: "*/30 1-3 * * *" }, (shown) => /T0[123]:[03]0$/.test(shown)],
  [{ kind: "monthly", day: 29, hour: 2, minute: 45, second: 0 }, isOn29],
];

function isOn29(shown: string): boolean {
  const [year = 0, month = 0, day = 0] = shown.slice(0, 10).split("-").map(Number);
  const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return shown.endsWith("T02:45") && day === Math.min(29, last);
}

/** Every wall minute that is shown for the first time fires when it matches; so does the first minute after a gap that hides a match. */
function walk(
  zone: string,
  from: number,
  until: number,
  matches: (shown: string) => boolean,
): number[] {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    dateStyle: "short",
    timeStyle: "short",
  });
  const show = (instant: number): string => format.format(instant).replace(" ", "T");
  let latest = show(from);
  const slots: number[] = [];
  for (let instant = from + 60_000; instant <= until; instant += 60_000) {
    const shown = show(instant);
    if (shown <= latest) continue;
    let isDue = false;
    for (
      let wall = Date.parse(`${latest}Z`) + 60_000;
      wall <= Date.parse(`${shown}Z`);
      wall += 60_000
    )
      isDue ||= matches(new Date(wall).toISOString().slice(0, 16));
    if (isDue) slots.push(instant);
    latest = shown;
  }
  return slots;
}

const stretches = [
  ["2026-03-06", "2026-04-06"],
  ["2026-10-23", "2026-11-03"],
  ["2011-12-27", "2012-01-02"],
] as const;

describe("nextSlots", () => {
  test.each(zones)("agrees with a walk by the minute in %s", (zone) => {
    for (const [begin, end] of stretches) {
      const [from, until] = [Date.parse(begin), Date.parse(end)];
      for (const [pattern, matches] of patterns) {
        const timing: Timing = { pattern, timezone: zone, startAt: null, endAt: until };
        expect(nextSlots(timing, from, 1_000), `${pattern.kind} ${begin}`).toEqual(
          walk(zone, from, until, matches),
        );
      }
    }
  });
});
