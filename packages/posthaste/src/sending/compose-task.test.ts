import { describe, expect, test } from "vitest";
import { defineTask } from "../define/define-task.ts";
import { fixed } from "../define/retry-policies.ts";
import type { AnyContract } from "../define/task.ts";
import { readConfig } from "../config/config.ts";
import { PosthasteError } from "../domain/errors.ts";
import { composeTask, inputProblems, rowText } from "./compose-task.ts";

const task = defineTask({ name: 'mail "now"' });
const plain = readConfig({}, {}).config;

function compose(input: unknown, options?: object, of: AnyContract = task, config = plain) {
  const outgoing = composeTask(of, input, options, config);
  return { ...outgoing, row: JSON.parse(rowText(outgoing)) as Record<string, unknown> };
}

function problemsOf(input: unknown, options?: object, config = plain) {
  try {
    compose(input, options, task, config);
  } catch (error) {
    if (error instanceof PosthasteError && error.code === "VALIDATION_FAILED") {
      return error.problems;
    }
    throw error;
  }
  return [];
}

describe("composeTask", () => {
  test("makes a row of name, input and defaults without options", () => {
    const { id, row, mayExist, dueMs, key } = compose({ to: "a@b" });
    expect(row).toEqual({
      id,
      name: 'mail "now"',
      queue: "default",
      priority: 100,
      input: { to: "a@b" },
    });
    expect({ mayExist, dueMs, key }).toEqual({ mayExist: false, dueMs: 0, key: undefined });
  });

  test("stores every option in the row", () => {
    const options = {
      delayMs: 1_500,
      goodUntil: new Date("2030-01-02T03:04:05.678Z"),
      priority: 7,
      queue: "bulk",
      key: 'k "1"',
      flags: ["a"],
      id: "0190163D-8694-739B-AEA5-966C26F8AD91",
    };
    const { row, mayExist, dueMs } = compose(null, options);
    expect(row).toEqual({
      id: "0190163d-8694-739b-aea5-966c26f8ad91",
      name: 'mail "now"',
      queue: "bulk",
      priority: 7,
      input: null,
      delay_ms: 1_500,
      good_until: "2030-01-02T03:04:05.678Z",
      key: 'k "1"',
      flags: { a: true },
    });
    expect({ mayExist, dueMs }).toEqual({ mayExist: true, dueMs: 1_500 });
  });

  test("makes a task with a past time due now", () => {
    const { row, dueMs } = compose(null, { runAt: new Date("2020-01-01T00:00:00Z") });
    expect(row["run_at"]).toBe("2020-01-01T00:00:00.000Z");
    expect(dueMs).toBe(0);
  });

  describe("with a definition", () => {
    const retry = fixed({ intervalsMs: [5], retryFor: "any" });
    const defined = defineTask({
      name: "d",
      queue: "bulk",
      priority: 3,
      retry,
      flags: { slow: true, old: true },
    });

    test("stores its queue, priority, policy and flags with the task", () => {
      expect(compose(null, undefined, defined).row).toMatchObject({
        queue: "bulk",
        priority: 3,
        options: { retry: { ...retry } },
        flags: { slow: true, old: true },
      });
    });

    test("prefers the options of the send, and merges flags", () => {
      const options = { queue: "other", priority: 9, flags: { old: false } };
      expect(compose(null, options, defined).row).toMatchObject({
        queue: "other",
        priority: 9,
        options: { retry: { ...retry } },
        flags: { slow: true, old: false },
      });
    });

    test("stores the crash options too, and only the given ones", () => {
      const storedOf = (options: object) =>
        compose(null, undefined, defineTask({ name: "c", ...options })).row;
      expect(storedOf({ onCrash: "requeue" })["options"]).toEqual({ onCrash: "requeue" });
      expect(storedOf({ maxCrashes: 5 })["options"]).toEqual({ maxCrashes: 5 });
      const all = { retry, timeoutMs: 9, onCrash: "fail", maxCrashes: 2 };
      expect(storedOf(all)["options"]).toEqual({ ...all, retry: { ...retry } });
      expect(storedOf({ onCrash: undefined, maxCrashes: undefined })).not.toHaveProperty("options");
    });

    test("takes the queue's priority when neither gives one", () => {
      const config = readConfig({ queues: { default: { priority: 12 }, bulk: {} } }, {}).config;
      expect(compose(null, undefined, task, config).row["priority"]).toBe(12);
      expect(compose(null, { queue: "bulk" }, task, config).row["priority"]).toBe(100);
      expect(compose(null, undefined, defined, config).row["priority"]).toBe(3);
    });
  });

  describe("names a wrong option by its path", () => {
    test.each<[string, unknown]>([
      ["delayMs", -1],
      ["delayMs", 0.5],
      ["delayMs", "5s"],
      ["delayMs", 1e15],
      ["runAt", "2030-01-01"],
      ["runAt", new Date(Number.NaN)],
      ["runAt", new Date(8.64e15)],
      ["runAt", 5],
      ["goodUntil", null],
      ["goodUntil", new Date(-1e14)],
      ["priority", 0],
      ["priority", 101],
      ["queue", "no spaces"],
      ["queue", 5],
      ["key", ""],
      ["key", "x".repeat(256)],
      ["key", "a\u0000"],
      ["key", "\ud800"],
      ["key", 5],
      ["id", "x"],
      ["id", "0190163d-8694-739b-aea5-966c26f8ad9"],
      ["id", 5],
      ["flags", "a"],
      ["flags", [""]],
      ["flags", [5]],
      ["flags", { a: 1 }],
      ["flags", 5],
    ])("%s: %j", (name, value) => {
      expect(problemsOf(null, { [name]: value }).map(({ path }) => path)).toEqual([
        `options.${name}`,
      ]);
    });

    test("refuses delayMs together with runAt", () => {
      expect(problemsOf(null, { delayMs: 5, runAt: new Date() })).toEqual([
        { path: "options.runAt", message: "expected delayMs or runAt, found both" },
      ]);
    });

    test("names an unknown queue together with the configured ones", () => {
      const config = readConfig({ queues: { default: {}, mail: {} } }, {}).config;
      expect(problemsOf(null, { queue: "male" }, config)).toEqual([
        { path: "options.queue", message: '"male" is not configured; known: default, mail' },
      ]);
    });

    test("suggests the nearest name for an unknown option", () => {
      expect(problemsOf(null, { prioirty: 5 })).toEqual([
        { path: "options", message: 'unknown option "prioirty"; did you mean "priority"?' },
      ]);
    });

    test.each([5, "x", [], null])("refuses %j as options", (options) =>
      expect(problemsOf(null, options as unknown as object)).toHaveLength(1),
    );
  });

  test("reports problems of input and options together", () => {
    const paths = problemsOf({ a: Number.NaN, b: [1n] }, { priority: 0, kee: "x" }).map(
      ({ path }) => path,
    );
    expect(paths).toEqual(["input.a", "input.b[0]", "options", "options.priority"]);
  });

  test("refuses an input over rejectBytes and gives both sizes", () => {
    const config = readConfig({ payload: { rejectBytes: 100 } }, {}).config;
    expect(() => compose("x".repeat(200), undefined, task, config)).toThrow(
      expect.objectContaining({
        code: "PAYLOAD_TOO_LARGE",
        message: expect.stringMatching(/is 202 bytes of JSON, payload.rejectBytes allows 100/),
      }),
    );
    expect(compose("x".repeat(98), undefined, task, config).row["input"]).toHaveLength(98);
  });

  test.each([
    ["", "input"],
    ["a.b", "input.a.b"],
    ["[3].x", "input[3].x"],
  ])("maps a problem at %j of the value to %s of the send", (path, expected) => {
    expect(inputProblems([{ path, message: "m" }])).toEqual([{ path: expected, message: "m" }]);
  });

  test.each([
    [{ runAt: new Date("2030-01-02"), goodUntil: new Date("2030-01-01") }],
    [{ runAt: new Date("2030-01-01"), goodUntil: new Date("2030-01-01") }],
    [{ delayMs: 120_000, goodUntil: new Date(Date.now() + 60_000) }],
  ])("%j: refuses a task that is due after its deadline", (options) => {
    const late = defineTask({ name: "late" });
    const config = { queues: undefined, payload: { warnBytes: null, rejectBytes: null } };
    expect(() => composeTask(late, null, options, config)).toThrow(
      /options\.goodUntil: expected a time after the task is due .*: the task could never run/,
    );
  });
});
