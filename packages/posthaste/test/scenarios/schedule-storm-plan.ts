/** The schedules of schedule-storm.ts: what the library gets, and the same as conditions for the walk. */
import { defineSchedule, defineTask, type Schedule } from "../../src/index.ts";
import type { WalkedPattern } from "./schedule-walk.ts";

export const ticked = defineTask({ name: "ticked", run: () => null });

export interface PlannedSchedule {
  readonly schedule: Schedule;
  readonly walked: WalkedPattern;
}

const zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"];
const missed = ["skip", "latest", "all"] as const;

/** With "all" this many at most, so that outages leave some out. */
export const MOST_MISSED = 5;

/** Mixed patterns: of a thousand, about four hundred slots each in 10,000 hours. */
export function planSchedules(count: number): PlannedSchedule[] {
  return Array.from({ length: count }, (_, n) => {
    const zone = zones[n % zones.length] ?? "UTC";
    const shared = {
      name: `s${n}`,
      task: ticked,
      timezone: zone,
      missed: missed[n % missed.length] ?? "skip",
      maxMissed: MOST_MISSED,
      overlap: n % 20 === 7 ? ("skip" as const) : ("allow" as const),
    };
    // Half hours in the night, where clocks change, more often than others.
    const hour = n % 3 === 0 ? Math.floor(n / 3) % 4 : (n * 7) % 24;
    const minute = n % 2 === 0 ? 0 : 30;
    const at = `${two(hour)}:${two(minute)}`;
    const clock = { zone, minutes: [hour * 60 + minute], wheneverShown: false };
    const kind = Math.floor(n / 5) % 100;
    if (kind < 1)
      return {
        schedule: defineSchedule({ ...shared, hourly: { minute } }),
        walked: {
          ...clock,
          minutes: Array.from({ length: 24 }, (__, each) => each * 60 + minute),
          wheneverShown: true,
          isDue: () => true,
        },
      };
    if (kind < 35)
      return {
        schedule: defineSchedule({ ...shared, daily: { at } }),
        walked: { ...clock, isDue: () => true },
      };
    if (kind < 55)
      return {
        schedule: defineSchedule({ ...shared, cron: `0 ${minute} ${hour} * * 1-6` }),
        walked: { ...clock, isDue: ({ weekday }) => weekday >= 1 },
      };
    if (kind < 65)
      return {
        schedule: defineSchedule({
          ...shared,
          cron: `${minute} ${hour},${(hour + 9) % 24} 1-20 * *`,
        }),
        walked: {
          ...clock,
          minutes: [hour * 60 + minute, ((hour + 9) % 24) * 60 + minute],
          isDue: ({ day }) => day <= 20,
        },
      };
    if (kind < 80)
      return {
        schedule: defineSchedule({ ...shared, every: { hours: 24, minutes: 30 } }),
        walked: { everyMinutes: 1_470 },
      };
    if (kind < 95)
      return {
        schedule: defineSchedule({
          ...shared,
          weekly: { days: ["monday", "tuesday", "thursday", "friday", "saturday", "sunday"], at },
        }),
        walked: { ...clock, isDue: ({ weekday }) => weekday !== 3 },
      };
    return {
      schedule: defineSchedule({ ...shared, monthly: { day: 31, at } }),
      walked: { ...clock, isDue: ({ day, lastDay }) => day === lastDay },
    };
  });
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
