/**
 * From an instant to the next slot time.
 *
 * Clock patterns (cron, daily, weekly, monthly) name wall times. Their slot is the first instant at which the local clock shows the wall
 * time or a later one. So a wall time inside a gap fires once, at the first instant after it, and one in an overlap once, at the earlier instant.
 * `hourly` fires whenever the clock shows its minute, in an overlap twice. `every` ignores the local clock.
 */
import { parseCron, type ClockPattern, type Pattern, type TimeOfDay } from "./patterns.ts";
import { timeZone, type TimeZone } from "./time-zone.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** When a schedule fires. */
export interface Timing {
  readonly pattern: Pattern;
  /** An IANA name. */
  readonly timezone: string;
  /** No slot before this instant, and none after that one. */
  readonly startAt: number | null;
  readonly endAt: number | null;
}

/** The first slot after an instant; undefined: there is none. */
export function nextSlot(timing: Timing, after: number): number | undefined {
  const { startAt, endAt } = timing;
  const from = startAt === null ? after : Math.max(after, startAt - 1);
  const slot = slotAfter(timing, from);
  return slot === undefined || (endAt !== null && slot > endAt) ? undefined : slot;
}

/** The first `count` slots after an instant. */
export function nextSlots(timing: Timing, after: number, count: number): number[] {
  const slots: number[] = [];
  for (let from = after; slots.length < count;) {
    const slot = nextSlot(timing, from);
    if (slot === undefined) break;
    slots.push(slot);
    from = slot;
  }
  return slots;
}

function slotAfter({ pattern, timezone, startAt }: Timing, after: number): number | undefined {
  switch (pattern.kind) {
    case "every": {
      const grid = startAt ?? 0;
      return grid + (Math.floor((after - grid) / pattern.ms) + 1) * pattern.ms;
    }
    case "hourly":
      return nextHourly(pattern, timeZone(timezone), after);
    case "cron":
    case "daily":
    case "weekly":
    case "monthly": {
      const zone = timeZone(timezone);
      const wall = nextWall(pattern, zone.lastShown(after));
      return wall === undefined ? undefined : zone.firstShown(wall);
    }
  }
}

function nextHourly(
  { minute, second }: { readonly minute: number; readonly second: number },
  zone: TimeZone,
  after: number,
): number {
  const inHour = minute * 60_000 + second * 1_000;
  for (let from = after; ;) {
    const offset = zone.offsetAt(from + 1);
    const wall = from + offset;
    const hour = Math.floor(wall / HOUR_MS) * HOUR_MS;
    const slot = (hour + inHour > wall ? hour : hour + HOUR_MS) + inHour - offset;
    const change = zone.changeBetween(from + 1, slot);
    if (change === undefined) return slot;
    from = change - 1; // the clock shows other minutes from there on
  }
}

/** The first wall time of the pattern after this one; undefined: cron text that names a past year. */
function nextWall(pattern: ClockPattern, after: number): number | undefined {
  switch (pattern.kind) {
    case "cron":
      return parseCron(pattern.cron).nextRun(new Date(after))?.getTime();
    case "daily":
      return onDays(pattern, after, () => true);
    case "weekly":
      return onDays(pattern, after, (day) => pattern.days.includes(weekdayOf(day)));
    case "monthly":
      return onDays(pattern, after, (day) => dayOfMonth(day) === clampedDay(pattern.day, day));
  }
}

/** Day by day: at most a month is looked at. */
function onDays(time: TimeOfDay, after: number, isMeant: (day: number) => boolean): number {
  const inDay = ((time.hour * 60 + time.minute) * 60 + time.second) * 1_000;
  let day = Math.floor(after / DAY_MS) * DAY_MS;
  while (day + inDay <= after || !isMeant(day)) day += DAY_MS;
  return day + inDay;
}

/** 1 for Monday. */
function weekdayOf(day: number): number {
  return new Date(day).getUTCDay() || 7;
}

function dayOfMonth(day: number): number {
  return new Date(day).getUTCDate();
}

function clampedDay(wanted: number, day: number): number {
  const date = new Date(day);
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return Math.min(wanted, last);
}
