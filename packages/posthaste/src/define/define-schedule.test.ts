import { describe, expect, test } from "vitest";
import { PosthasteError } from "../domain/errors.ts";
import { defineSchedule } from "./define-schedule.ts";
import { defineTask } from "./define-task.ts";
import { isSchedule } from "./schedule.ts";

const task = defineTask({ name: "report" });
const define = defineSchedule as unknown as (options: unknown) => unknown;

function problemsOf(options: unknown): string[] {
  try {
    define(options);
  } catch (error) {
    if (!(error instanceof PosthasteError) || error.code !== "DEFINITION_INVALID") throw error;
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}

describe("defineSchedule", () => {
  test("fills in defaults", () => {
    const schedule = defineSchedule({ name: "nightly", task, daily: { at: "02:30" } });
    expect(isSchedule(schedule)).toBe(true);
    expect(schedule).toMatchObject({
      name: "nightly",
      target: { task },
      input: undefined,
      pattern: { kind: "daily", hour: 2, minute: 30, second: 0 },
      timezone: "UTC",
      missed: "skip",
      maxMissed: 100,
      overlap: "allow",
      jitterMs: 0,
      startAt: undefined,
      endAt: undefined,
      paused: false,
    });
  });

  test.each<[object, object]>([
    [{ cron: "0 30 9 * * 1-5" }, { kind: "cron", cron: "0 30 9 * * 1-5" }],
    [{ every: { hours: 1, minutes: 30 } }, { kind: "every", ms: 5_400_000 }],
    [{ hourly: { minute: 5 } }, { kind: "hourly", minute: 5, second: 0 }],
    [
      { weekly: { days: ["sunday", "monday"], at: "23:59:59" } },
      { kind: "weekly", days: [1, 7], hour: 23, minute: 59, second: 59 },
    ],
    [
      { monthly: { day: 31, at: "00:00" } },
      { kind: "monthly", day: 31, hour: 0, minute: 0, second: 0 },
    ],
  ])("reads the pattern %j", (options, pattern) =>
    expect(define({ name: "a", task, ...options })).toMatchObject({ pattern }),
  );

  test.each<[string, object, string]>([
    ["no pattern", {}, ": expected one of cron, every, hourly, daily, weekly, monthly, found none"],
    [
      "two patterns",
      { cron: "* * * * *", daily: { at: "01:00" } },
      "daily: expected one pattern, found cron and daily",
    ],
    [
      "an empty interval",
      { every: {} },
      "every: expected at least one of seconds, minutes, hours, days, found none",
    ],
    [
      "a long interval",
      { every: { hours: 169 } },
      "every.hours: expected a whole number from 1 to 168, found 169",
    ],
    [
      "an unknown unit",
      { every: { hour: 1, days: 1 } },
      'every: unknown option "hour"; did you mean "hours"?',
    ],
    [
      "a time out of range",
      { daily: { at: "24:00" } },
      'daily.at: expected a time such as "09:30" or "09:30:15", found "24:00"',
    ],
    [
      "no time",
      { daily: {} },
      'daily.at: expected a time such as "09:30" or "09:30:15", found none',
    ],
    [
      "no day",
      { monthly: { at: "01:00" } },
      "monthly.day: expected a whole number from 1 to 31, found none",
    ],
    [
      "a wrong weekday",
      { weekly: { days: ["mondey"], at: "01:00" } },
      'weekly.days[0]: expected a day of the week, found "mondey"; did you mean "monday"?',
    ],
    [
      "no weekday",
      { weekly: { days: [], at: "01:00" } },
      "weekly.days: expected a list of at least one day, found an empty list",
    ],
    [
      "a weekday twice",
      { weekly: { days: ["monday", "monday"], at: "01:00" } },
      'weekly.days[1]: "monday" is there twice',
    ],
    [
      "a date that never comes",
      { cron: "0 0 31 2 *" },
      'cron: expected a pattern that matches a date, found "0 0 31 2 *", which never does',
    ],
    [
      "a wrong time zone",
      { every: { days: 1 }, timezone: "Europe/Berlim" },
      'timezone: expected an IANA time zone, found "Europe/Berlim"; did you mean "Europe/Berlin"?',
    ],
    [
      "a wrong policy",
      { every: { days: 1 }, overlap: "wait" },
      'overlap: expected "allow" or "skip" or "buffer" or "cancel", found "wait"',
    ],
    [
      "maxMissed out of range",
      { every: { days: 1 }, maxMissed: 0 },
      "maxMissed: expected a whole number from 1 to 10000, found 0",
    ],
    [
      "an end before its start",
      { every: { days: 1 }, startAt: new Date(2), endAt: new Date(1) },
      "endAt: expected a time after startAt, found 1970-01-01T00:00:00.001Z",
    ],
  ])("refuses %s", (_case, options, problem) =>
    expect(problemsOf({ name: "a", task, ...options })).toEqual([problem]),
  );

  test("refuses cron text that croner cannot read, and says why", () => {
    expect(problemsOf({ name: "a", task, cron: "61 * * * *" })).toEqual([
      expect.stringMatching(
        /^cron: expected a cron pattern such as .*, found "61 \* \* \* \*" \(.+\)$/,
      ),
    ]);
  });

  test("refuses a schedule without a target, with both, and with a wrong one", () => {
    const daily = { at: "01:00" };
    expect(problemsOf({ name: "a", daily })).toEqual([
      ": expected a task or a workflow, found neither",
    ]);
    expect(problemsOf({ name: "a", daily, task, workflow: task })).toEqual([
      ": expected a task or a workflow, found both",
    ]);
    expect(problemsOf({ name: "a", daily, workflow: task })).toEqual([
      "workflow: expected a workflow from defineWorkflow(), found an object",
    ]);
    expect(problemsOf({ name: "a", daily, task: "report" })).toEqual([
      "task: expected a task from defineTask(), found a string",
    ]);
  });

  test("reports all problems together", () => {
    expect(problemsOf({ name: "", task, jitter: 5, daily: { at: "x" } })).toHaveLength(3);
    expect(problemsOf(5)).toContain(": expected an object of options, found a number");
  });
});
