/** When a schedule fires: exactly one of six patterns, as it is stored. */
import { Cron } from "croner";

/** A time of day by the local clock. */
export interface TimeOfDay {
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

export type Pattern =
  /** Five fields, six with seconds in front, or a name such as `@daily`. */
  | { readonly kind: "cron"; readonly cron: string }
  /** A grid of instants, counted from the schedule's start, else from 1970. Clock changes do not move it. */
  | { readonly kind: "every"; readonly ms: number }
  /** Whenever the local clock shows this minute and second. */
  | { readonly kind: "hourly"; readonly minute: number; readonly second: number }
  | ({ readonly kind: "daily" } & TimeOfDay)
  /** Days from 1, Monday, to 7, Sunday. */
  | ({ readonly kind: "weekly"; readonly days: readonly number[] } & TimeOfDay)
  /** In a shorter month on its last day. */
  | ({ readonly kind: "monthly"; readonly day: number } & TimeOfDay);

/** Patterns that name times of the local clock. */
export type ClockPattern = Exclude<Pattern, { readonly kind: "every" | "hourly" }>;

export const weekdays = [
  "monday",
  "tuesday",
  "wednesday",
  "thursday",
  "friday",
  "saturday",
  "sunday",
] as const;

export type Weekday = (typeof weekdays)[number];

/** Parsed patterns: a scheduler asks the same few again and again. */
const crons = new Map<string, Cron>();
const MOST_CRONS = 1_000;

/** Throws croner's error for a text that is not a pattern. Without a time zone: it reads and writes the local clock as if it were UTC. */
export function parseCron(text: string): Cron {
  const known = crons.get(text);
  if (known !== undefined) return known;
  if (crons.size >= MOST_CRONS) crons.clear();
  const cron = new Cron(text, { utcOffset: 0 });
  crons.set(text, cron);
  return cron;
}

/** A pattern in words, for lists and errors: `daily at 09:30:00`. */
export function describePattern(pattern: Pattern): string {
  switch (pattern.kind) {
    case "cron":
      return `cron ${pattern.cron}`;
    case "every":
      return `every ${describeDuration(pattern.ms)}`;
    case "hourly":
      return `hourly at minute ${pattern.minute}${pattern.second === 0 ? "" : `:${twoDigits(pattern.second)}`}`;
    case "daily":
      return `daily at ${describeTime(pattern)}`;
    case "weekly":
      return `weekly on ${pattern.days.map((day) => weekdays[day - 1]).join(", ")} at ${describeTime(pattern)}`;
    case "monthly":
      return `monthly on day ${pattern.day} at ${describeTime(pattern)}`;
  }
}

function describeTime({ hour, minute, second }: TimeOfDay): string {
  const parts = second === 0 ? [hour, minute] : [hour, minute, second];
  return parts.map(twoDigits).join(":");
}

const units = [
  ["days", 86_400_000],
  ["hours", 3_600_000],
  ["minutes", 60_000],
] as const;

function describeDuration(ms: number): string {
  const [name, length] = units.find(([, size]) => ms % size === 0) ?? ["seconds", 1_000];
  return `${ms / length} ${name}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}
