import { type } from "arktype";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { PosthasteError } from "../domain/errors.ts";
import { defineTask, implement } from "./define-task.ts";
import { exponential, fixed } from "./retry-policies.ts";
import { isContract, isTask } from "./task.ts";

/** As JavaScript calls it: nothing was checked by a compiler. */
const define = defineTask as (options: unknown) => unknown;
const complete = implement as (contract: unknown, run: unknown) => unknown;

function problemsOf(make: () => unknown): readonly string[] {
  try {
    make();
  } catch (error) {
    if (!(error instanceof PosthasteError)) throw error;
    expect(error.code).toBe("DEFINITION_INVALID");
    return error.problems.map(({ path, message }) =>
      path === "" ? message : `${path}: ${message}`,
    );
  }
  return [];
}

const run = () => 1;

describe("defineTask", () => {
  describe("definition", () => {
    test("needs only a name and a handler", () => {
      const task = defineTask({ name: "tick", run });
      expect({ ...task }).toEqual({
        ...task,
        name: "tick",
        queue: undefined,
        priority: undefined,
        retry: undefined,
        errors: [],
        flags: undefined,
        blocking: false,
        input: undefined,
        output: undefined,
        run,
      });
      expect(isTask(task)).toBe(true);
      expect(isContract(task)).toBe(true);
    });

    test("keeps every option", () => {
      const input = z.object({ a: z.number() });
      const output = type("number");
      const retry = exponential({ baseMs: 5, maxRetries: 2, retryFor: ["BUSY", "TASK_TIMEOUT"] });
      const task = defineTask({
        name: "all",
        input,
        output,
        errors: ["BUSY"],
        queue: "pricing",
        priority: 7,
        retry,
        flags: ["infrastructure_resilient"],
        blocking: true,
        run: ({ a }) => a,
      });
      expect(task).toMatchObject({
        errors: ["BUSY"],
        queue: "pricing",
        priority: 7,
        retry: { kind: "exponential", baseMs: 5, maxRetries: 2, jitter: true },
        flags: { infrastructure_resilient: true },
        blocking: true,
      });
      expect(task.input).toBe(input);
      expect(task.output).toBe(output);
    });

    test("does not change when its options object changes", () => {
      const intervalsMs = [1];
      const retry = fixed({ intervalsMs, retryFor: "any" });
      const options = { name: "t", errors: ["A"], flags: { x: false }, retry, run };
      const task = defineTask(options);
      intervalsMs.push(-1);
      options.errors.push("B");
      options.flags.x = true;
      expect(task.errors).toEqual(["A"]);
      expect(task.flags).toEqual({ x: false });
      expect(task.retry).toMatchObject({ intervalsMs: [1] });
      expect(Object.isFrozen(task) && Object.isFrozen(task.errors)).toBe(true);
    });
  });

  describe("contract", () => {
    const contract = defineTask({ name: "c", input: z.string(), errors: ["A"], blocking: true });

    test("is not a task", () => {
      expect(isContract(contract)).toBe(true);
      expect(isTask(contract)).toBe(false);
      expect("run" in contract).toBe(false);
    });

    test("becomes a task with implement", () => {
      const handler = (text: string) => text.length;
      const task = implement(contract, handler);
      expect(isTask(task)).toBe(true);
      expect({ ...task }).toEqual({ ...contract, run: handler });
      expect(isTask(contract)).toBe(false);
    });

    test("becomes a task only with a handler, and only once", () => {
      expect(problemsOf(() => complete(contract, undefined))).toEqual([
        "run: expected a function, found undefined",
      ]);
      expect(problemsOf(() => complete(defineTask({ name: "t", run }), run))).toEqual([
        "contract: expected a contract, that is defineTask without run, found a task",
      ]);
      for (const nothing of [undefined, null, {}, "c"]) {
        expect(problemsOf(() => complete(nothing, run))).toHaveLength(1);
      }
    });
  });

  test.each([undefined, null, 7, {}, { name: "x", run }, () => 1])(
    "isTask is false for %s",
    (value) => {
      expect(isTask(value)).toBe(false);
      expect(isContract(value)).toBe(false);
    },
  );

  describe("mistakes", () => {
    test("are reported all at once, each with its path", () => {
      const make = () =>
        define({
          name: "x",
          priorty: 3,
          priority: 101,
          queue: "my queue",
          errors: ["busy", "TASK_TIMEOUT", "A", "A"],
          retry: fixed({ intervalsMs: [], retryFor: [] }),
          flags: { on: "yes" },
          blocking: "yes",
          input: {},
          run: "run",
        });
      expect(make).toThrow(/^task "x" is not valid:\n {2}- unknown option "priorty"; did you mean/);
      expect(problemsOf(make)).toEqual([
        'unknown option "priorty"; did you mean "priority"?',
        "run: expected a function, found a string; a contract leaves it out",
        expect.stringMatching(/^input: expected a Standard Schema .+, found an object$/),
        expect.stringMatching(/^errors\[0\]: expected UPPER_SNAKE/),
        expect.stringMatching(/^errors\[1\]: "TASK_TIMEOUT" is a built-in code/),
        'errors[3]: "A" is listed twice',
        expect.stringMatching(/^queue: expected .+, found "my queue"$/),
        "priority: expected a whole number from 1 to 100, found 101",
        "flags.on: expected true or false, found a string",
        "blocking: expected true or false, found a string",
        "retry.intervalsMs: expected 1 to 20 delays in milliseconds, found 0",
        'retry.retryFor: expected a list of codes or "any", found an empty list',
      ]);
    });

    test("in the options as a whole are reported", () => {
      for (const options of [undefined, null, "t", 3]) {
        expect(problemsOf(() => define(options))).toHaveLength(1);
      }
      expect(() => define({ run })).toThrow(
        "a task without a name is not valid: name: expected a string",
      );
    });

    // An undefined of an import cycle must not turn a task into a contract, or its check off.
    test.each(["run", "input", "output"])("%s: refuses undefined", (option) => {
      const problems = problemsOf(() => define({ name: "t", run, [option]: undefined }));
      expect(problems).toEqual([expect.stringMatching(`^${option}: expected .+ found undefined`)]);
    });

    test.each(["queue", "priority", "retry", "errors", "flags", "blocking"])(
      "%s: accepts undefined as omitted",
      (option) => {
        expect(problemsOf(() => define({ name: "t", run, [option]: undefined }))).toEqual([]);
      },
    );

    test.each([0, -1, 1.5, "1s", 2 ** 31])(
      "timeoutMs refuses %j: it is a whole number of milliseconds",
      (timeoutMs) => {
        expect(problemsOf(() => define({ name: "t", run, timeoutMs }))).toEqual([
          expect.stringContaining("timeoutMs: expected a whole number from 1 to 2147483647"),
        ]);
      },
    );

    test.each(["retry", "", 1, null, true])(
      "onCrash refuses %j: it is one of three words",
      (onCrash) => {
        expect(problemsOf(() => define({ name: "t", run, onCrash }))).toEqual([
          expect.stringContaining('onCrash: expected "policy" or "requeue" or "fail", found '),
        ]);
      },
    );

    test.each([0, -1, 1.5, "3", null, Number.NaN])(
      "maxCrashes refuses %j: it is at least 1",
      (maxCrashes) => {
        expect(problemsOf(() => define({ name: "t", run, maxCrashes }))).toEqual([
          expect.stringContaining("maxCrashes: expected a whole number of at least 1, found "),
        ]);
      },
    );

    test.each(["policy", "requeue", "fail"] as const)("onCrash accepts %s", (onCrash) => {
      expect(defineTask({ name: "t", onCrash, maxCrashes: 1 })).toMatchObject({
        onCrash,
        maxCrashes: 1,
      });
      expect(implement(defineTask({ name: "t", onCrash }), () => null)).toMatchObject({
        onCrash,
        maxCrashes: undefined,
      });
    });

    test.each<[string, unknown]>([
      ["priority", 0],
      ["priority", 1.5],
      ["priority", "5"],
      ["priority", null],
      ["priority", Number.NaN],
      ["errors", "A"],
      ["errors", [7]],
      ["flags", "on"],
      ["flags", [""]],
      ["flags", null],
      ["queue", ""],
      ["queue", null],
      ["blocking", 1],
      ["blocking", null],
      ["retry", true],
      ["retry", {}],
    ])("%s: %j", (option, value) => {
      const problems = problemsOf(() => define({ name: "t", run, [option]: value }));
      expect(problems).toEqual([expect.stringMatching(`^${option}`)]);
    });

    test("include retry codes that the task does not have", () => {
      const retry = fixed({ intervalsMs: [1], retryFor: ["BUSY", "WORKER_CRASHD", "GONE"] });
      expect(problemsOf(() => define({ name: "t", run, errors: ["BUSY"], retry }))).toEqual([
        expect.stringMatching(/^retry\.retryFor\[1\]: .+ did you mean "WORKER_CRASHED"\?$/),
        expect.stringMatching(/^retry\.retryFor\[2\]: "GONE" is neither .+; list it in errors$/),
      ]);
    });
  });
});
