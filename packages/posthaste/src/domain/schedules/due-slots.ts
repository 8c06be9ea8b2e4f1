/** Which slots to fire now, which were missed, and which comes next. */
import { nextSlot, type Timing } from "./next-slot.ts";

export const missedPolicies = ["skip", "latest", "all"] as const;
/** The fate of slots that passed while no scheduler ran. */
export type MissedPolicy = (typeof missedPolicies)[number];

export interface FiringRules extends Timing {
  readonly name: string;
  /** Each slot is due this much later at most: spread evenly over schedules and slots. */
  readonly jitterMs: number;
  readonly missed: MissedPolicy;
  /** With `missed: "all"`: so many slots at most, the newest ones. */
  readonly maxMissed: number;
}

export interface DueSlots {
  /** Oldest first. */
  readonly fire: readonly number[];
  /** The first and the last slot that are not fired any more. */
  readonly missed: { readonly from: number; readonly to: number } | undefined;
  /** Undefined: the schedule has ended. */
  readonly next: number | undefined;
}

/** A slot that is due for longer was missed. A restart of all workers takes less. */
export const MISSED_AFTER_MS = 60_000;
/** Slots of one schedule that are fired in one transaction. */
const MOST_AT_ONCE = 100;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How far back due slots are looked for, until enough are found. */
const looks = [HOUR_MS, DAY_MS, 50 * DAY_MS, 20_000 * DAY_MS, Infinity];

/** When a slot is due: always the same for one slot of one schedule. */
export function dueAt(
  { name, jitterMs }: Pick<FiringRules, "name" | "jitterMs">,
  slot: number,
): number {
  return jitterMs === 0 ? slot : slot + (hash(`${name}/${slot}`) % (jitterMs + 1));
}

/** `first` is the stored next slot: it counts, whatever this process's time-zone data say about it. */
export function dueSlots(rules: FiringRules, first: number, now: number): DueSlots {
  if (dueAt(rules, first) > now) return { fire: [], missed: undefined, next: first };
  const most = rules.missed === "all" ? rules.maxMissed : 1;
  const { due, next } = newestDue(rules, first, now, most + 1);
  const last = due.at(-1) ?? first;
  const isMissed = rules.missed === "skip" && now - dueAt(rules, last) > MISSED_AFTER_MS;
  const fire = isMissed ? [] : due.slice(-most);
  const lastMissed = due.at(-fire.length - 1);
  return {
    fire: fire.slice(0, MOST_AT_ONCE),
    missed: lastMissed === undefined ? undefined : { from: first, to: lastMissed },
    next: fire[MOST_AT_ONCE] ?? next,
  };
}

/** At least the newest `count` due slots, or all from `first` on. An outage of a month does not have to be walked second by second. */
function newestDue(
  rules: FiringRules,
  first: number,
  now: number,
  count: number,
): { readonly due: readonly number[]; readonly next: number | undefined } {
  for (const look of looks) {
    const from = now - rules.jitterMs - look;
    const isWhole = from <= first;
    const due = isWhole ? [first] : [];
    let next = nextSlot(rules, isWhole ? first : from);
    while (next !== undefined && dueAt(rules, next) <= now) {
      due.push(next);
      next = nextSlot(rules, next);
    }
    if (isWhole || due.length >= count) return { due, next };
  }
  throw new RangeError("the last look goes back to the first slot");
}

/** FNV-1a: small, fast, and the same everywhere. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  }
  // FNV's low bits follow the last characters: mixed once more, so that slots a second apart are spread.
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return (value ^ (value >>> 13)) >>> 0;
}
