/** Reads patterns: from options, with all problems, and from stored rows, which a newer library may have written. */
import { article } from "../names.ts";
import { nearestName } from "../nearest-name.ts";
import { isRecord, shown, type IntegerRule, type OptionReader } from "../option-reader.ts";
import { nextSlot } from "./next-slot.ts";
import { parseCron, weekdays, type Pattern, type TimeOfDay, type Weekday } from "./patterns.ts";

/** The six options of which a schedule has one. */
export interface PatternOptions {
  /**
   * Cron text with five fields, or six with seconds in front: `"0 30 9 * * 1-5"`. Its times are those of the local clock, so that for an
   * interval `every` is the better choice.
   */
  readonly cron: string;
  /** At least one unit; several are added up. Counted from `startAt`, else from 1970-01-01T00:00:00Z. */
  readonly every: {
    readonly seconds?: number;
    readonly minutes?: number;
    readonly hours?: number;
    readonly days?: number;
  };
  readonly hourly: { readonly minute: number; readonly second?: number };
  /** `at` is the local time, `"09:30"` or `"09:30:15"`. */
  readonly daily: { readonly at: string };
  readonly weekly: { readonly days: readonly Weekday[]; readonly at: string };
  /** Day 31 in a shorter month is its last day. */
  readonly monthly: { readonly day: number; readonly at: string };
}

export const patternKinds = ["cron", "every", "hourly", "daily", "weekly", "monthly"] as const;
type PatternKind = (typeof patternKinds)[number];

const unitRules = {
  seconds: { min: 1, max: 86_400, ms: 1_000 },
  minutes: { min: 1, max: 1_440, ms: 60_000 },
  hours: { min: 1, max: 168, ms: 3_600_000 },
  days: { min: 1, max: 365, ms: 86_400_000 },
} as const;

/** The pattern of a schedule's options; undefined after problems were reported. */
export function readPattern(options: OptionReader): Pattern | undefined {
  const given = patternKinds.filter((kind) => options.value(kind) !== undefined);
  const [kind, another] = given;
  if (kind === undefined) {
    options.complain("", `expected one of ${patternKinds.join(", ")}, found none`);
    return undefined;
  }
  if (another !== undefined) {
    options.complain(another, `expected one pattern, found ${given.join(" and ")}`);
    return undefined;
  }
  const before = options.problems.length;
  const pattern = readKind(options, kind);
  return options.problems.length === before ? pattern : undefined;
}

function readKind(options: OptionReader, kind: PatternKind): Pattern | undefined {
  switch (kind) {
    case "cron":
      return readCron(options);
    case "every":
      return { kind, ms: readEvery(options) };
    case "hourly": {
      const fields = groupOf(options, kind, ["minute", "second"]);
      const minute = requireInteger(fields, "minute", { min: 0, max: 59 });
      return { kind, minute, second: fields.integer("second", { min: 0, max: 59 }, 0) };
    }
    case "daily":
      return { kind, ...readTime(groupOf(options, kind, ["at"])) };
    case "weekly": {
      const fields = groupOf(options, kind, ["days", "at"]);
      return { kind, days: readDays(fields), ...readTime(fields) };
    }
    case "monthly": {
      const fields = groupOf(options, kind, ["day", "at"]);
      return { kind, day: requireInteger(fields, "day", { min: 1, max: 31 }), ...readTime(fields) };
    }
  }
}

function groupOf(options: OptionReader, kind: PatternKind, known: readonly string[]): OptionReader {
  return options.group(kind, known);
}

function readCron(options: OptionReader): Pattern | undefined {
  const cron = options.text("cron");
  if (cron === undefined) return undefined;
  const problem = cronProblem(cron);
  if (problem === undefined) return { kind: "cron", cron };
  options.complain("cron", problem);
  return undefined;
}

function cronProblem(text: string): string | undefined {
  try {
    if (parseCron(text).nextRun(new Date(Date.UTC(2000, 0))) !== null) return undefined;
    return `expected a pattern that matches a date, found ${shown(text)}, which never does`;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `expected a cron pattern such as "0 30 9 * * 1-5", found ${shown(text)} (${reason})`;
  }
}

function readEvery(options: OptionReader): number {
  const units = Object.keys(unitRules) as (keyof typeof unitRules)[];
  const fields = groupOf(options, "every", units);
  let ms = 0;
  for (const unit of units) ms += fields.integer(unit, unitRules[unit], 0) * unitRules[unit].ms;
  if (ms === 0 && fields.problems.length === 0)
    fields.complain("", `expected at least one of ${units.join(", ")}, found none`);
  return ms;
}

function requireInteger(fields: OptionReader, name: string, rule: IntegerRule): number {
  if (fields.value(name) === undefined) {
    fields.complain(name, `expected a whole number from ${rule.min} to ${rule.max}, found none`);
  }
  return fields.integer(name, rule, 0);
}

function readTime(fields: OptionReader): TimeOfDay {
  const text = fields.value("at");
  const [, hour, minute, second = "0"] =
    /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(typeof text === "string" ? text : "") ?? [];
  if (hour === undefined) {
    const found = text === undefined ? "none" : shown(text);
    fields.complain("at", `expected a time such as "09:30" or "09:30:15", found ${found}`);
  }
  return { hour: Number(hour), minute: Number(minute), second: Number(second) };
}

function readDays(fields: OptionReader): number[] {
  const given = fields.value("days");
  if (!Array.isArray(given) || given.length === 0) {
    const found = Array.isArray(given) ? "an empty list" : article(given);
    fields.complain("days", `expected a list of at least one day, found ${found}`);
    return [];
  }
  const days = new Set<number>();
  for (const [index, day] of (given as unknown[]).entries()) {
    const number = weekdays.findIndex((name) => name === day) + 1;
    if (number === 0) {
      const nearest = typeof day === "string" ? nearestName(day, weekdays) : undefined;
      const hint = nearest === undefined ? weekdays.join(", ") : `did you mean "${nearest}"?`;
      fields.complain(`days[${index}]`, `expected a day of the week, found ${shown(day)}; ${hint}`);
    } else if (days.has(number)) {
      fields.complain(`days[${index}]`, `${shown(day)} is there twice`);
    } else days.add(number);
  }
  return [...days].sort((a, b) => a - b);
}

/**
 * A pattern from a row. Undefined: this library cannot fire it, because its kind, its cron text or its time zone is unknown here; a newer
 * library may have written it.
 */
export function readStoredPattern(stored: unknown, timezone: string): Pattern | undefined {
  if (!isRecord(stored) || !patternKinds.some((kind) => kind === stored["kind"])) return undefined;
  const pattern = stored as unknown as Pattern;
  try {
    nextSlot({ pattern, timezone, startAt: null, endAt: null }, 0);
    return pattern;
  } catch {
    return undefined; // croner or Intl refuses it
  }
}
