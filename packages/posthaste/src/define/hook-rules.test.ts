import { describe, expect, test } from "vitest";
import { hooksProblems, recoveryAnswerProblems } from "./hook-rules.ts";

const hook = () => undefined;

function linesOf(problems: readonly { path: string; message: string }[]): string[] {
  return problems.map(({ path, message }) => `${path}: ${message}`);
}

describe("hook rules", () => {
  describe("hooksProblems", () => {
    test.each([
      undefined,
      {},
      { taskSent: hook },
      { taskSent: [hook, hook], workerStopped: undefined },
      { taskRecovery: [] },
    ])("accepts %j", (hooks) => expect(hooksProblems(hooks)).toEqual([]));

    test.each([
      [5, "hooks: expected an object of hooks, found a number"],
      [[hook], "hooks: expected an object of hooks, found an array"],
      [null, "hooks: expected an object of hooks, found null"],
      [{ taskSend: hook }, 'hooks: unknown option "taskSend"; did you mean "taskSent"?'],
      [
        { taskSent: "log" },
        "hooks.taskSent: expected a function or a list of functions, found a string",
      ],
      [
        { taskSent: null },
        "hooks.taskSent: expected a function or a list of functions, found null",
      ],
      [{ workerStarted: [hook, 7] }, "hooks.workerStarted[1]: expected a function, found a number"],
    ])("refuses %j", (hooks, expected) => {
      expect(linesOf(hooksProblems(hooks))).toEqual([expected]);
    });

    test("reports all problems", () => {
      expect(hooksProblems({ tasksent: 1, taskFailed: 2, taskExpired: [3, 4] })).toHaveLength(4);
    });
  });

  describe("recoveryAnswerProblems", () => {
    const runAt = new Date("2030-01-01");

    test.each([
      { action: "default" },
      { action: "failWithBackoff" },
      { action: "skip" },
      { action: "skip", untilMs: 0 },
      { action: "reschedule", runAt },
      { action: "reschedule", runAt, attempts: 0 },
    ])("accepts %j", (answer) => expect(recoveryAnswerProblems(answer)).toEqual([]));

    const actions = '"default" or "reschedule" or "failWithBackoff" or "skip"';
    test.each([
      [undefined, ": expected an object with an action, found undefined"],
      ["skip", ": expected an object with an action, found a string"],
      [{}, `action: expected ${actions}, found undefined`],
      [{ action: "retry", runAt }, `action: expected ${actions}, found "retry"`],
      [{ action: "reschedule" }, "runAt: expected a Date, found none"],
      [
        { action: "reschedule", runAt: "2030-01-01" },
        "runAt: expected a valid Date between the years 1 and 9999",
      ],
      [
        { action: "reschedule", runAt: new Date(Number.NaN) },
        "runAt: expected a valid Date between the years 1 and 9999",
      ],
      [
        { action: "reschedule", runAt, attempts: -1 },
        "attempts: expected a whole number from 0 to 2147483647, found -1",
      ],
      [
        { action: "skip", untilMs: 0.5 },
        "untilMs: expected a whole number from 0 to 3153600000000, found 0.5",
      ],
      [{ action: "skip", untilMS: 5 }, ': unknown option "untilMS"; did you mean "untilMs"?'],
      [{ action: "default", runAt }, ': unknown option "runAt"; known: action'],
    ])("refuses %j", (answer, expected) => {
      expect(linesOf(recoveryAnswerProblems(answer))).toEqual([expected]);
    });
  });
});
