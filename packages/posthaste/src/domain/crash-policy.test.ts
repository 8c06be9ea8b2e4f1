import { describe, expect, test } from "vitest";
import { fixed } from "../define/retry-policies.ts";
import {
  crashOptions,
  decideCrash,
  type CrashCircumstances,
  type TaskFacts,
  type TaskRecoveryAnswer,
} from "./crash-policy.ts";
import { CRASH_RULES } from "./crash-policy.ts";

const crashes = fixed({ intervalsMs: [1_000, 2_000], retryFor: ["WORKER_CRASHED"], jitter: false });
const busyOnly = fixed({ intervalsMs: [500], retryFor: ["BUSY"], jitter: false });

const running: TaskFacts = {
  isStarted: true,
  isCancelRequested: false,
  retry: null,
  retryCount: 0,
  crashCount: 0,
  onCrash: undefined,
  maxCrashes: 3,
  msUntilDeadline: null,
};
const claimed: TaskFacts = { ...running, isStarted: false };

const off: CrashCircumstances = {
  cause: "worker crashed",
  settings: { enabled: false, recoveryDelayMs: 30_000 },
  answer: { action: "default" },
  thresholdMs: 60_000,
};
const on: CrashCircumstances = { ...off, settings: { enabled: true, recoveryDelayMs: 30_000 } };
const shutdown: CrashCircumstances = { ...on, cause: "shutdown" };

const atOnce = { decision: "requeue", due: { delayMs: 0 } };
const later = { decision: "requeue", due: { delayMs: 30_000 } };

/** By its rule: what the task says, what the config says, what becomes of it. */
const rules: [string, Partial<TaskFacts>, CrashCircumstances, object][] = [
  ["no onCrash, recovery off, no policy: it fails", {}, off, { decision: "fail" }],
  [
    "no onCrash, recovery off, a policy that lists the crash: it is retried",
    { retry: crashes },
    off,
    { decision: "retry", delayMs: 1_000 },
  ],
  [
    "its second retry waits for its second interval",
    { retry: crashes, retryCount: 1 },
    off,
    { decision: "retry", delayMs: 2_000 },
  ],
  ["no retries left: it fails", { retry: crashes, retryCount: 2 }, off, { decision: "fail" }],
  ["a policy for something else: it fails", { retry: busyOnly }, off, { decision: "fail" }],
  ["no onCrash, recovery on: it is requeued after the delay", {}, on, later],
  ["no onCrash, recovery on, a policy: the policy is ignored", { retry: crashes }, on, later],
  ['"requeue", recovery off: it is requeued at once', { onCrash: "requeue" }, off, atOnce],
  ['"requeue", recovery on: it is requeued after the delay', { onCrash: "requeue" }, on, later],
  ['"policy", recovery on: the policy decides', { onCrash: "policy" }, on, { decision: "fail" }],
  [
    '"policy", recovery on, a policy that lists the crash: it is retried',
    { onCrash: "policy", retry: crashes },
    on,
    { decision: "retry", delayMs: 1_000 },
  ],
  ['"fail", recovery on: it fails', { onCrash: "fail" }, on, { decision: "fail" }],
  ["shutdown, no onCrash: it is requeued at once", { retry: crashes }, shutdown, atOnce],
  ['shutdown, "requeue": it is requeued at once', { onCrash: "requeue" }, shutdown, atOnce],
  ['shutdown, "fail": it fails', { onCrash: "fail" }, shutdown, { decision: "fail" }],
  ['shutdown, "policy": it fails', { onCrash: "policy" }, shutdown, { decision: "fail" }],
  [
    'shutdown, "policy" that lists the crash: it is retried',
    { onCrash: "policy", retry: crashes },
    shutdown,
    { decision: "retry", delayMs: 1_000 },
  ],
];

describe("decideCrash", () => {
  test.each(rules)("a running task: %s", (_, facts, circumstances, expected) => {
    expect(decideCrash({ ...running, ...facts }, circumstances, 0.5)).toEqual(expected);
  });

  test.each([undefined, ...CRASH_RULES])(
    "releases a CLAIMED task, whatever its onCrash is (%s)",
    (onCrash) => {
      for (const circumstances of [off, on, shutdown]) {
        const facts = { ...claimed, onCrash, retry: crashes, crashCount: 9 };
        expect(decideCrash(facts, circumstances, 0.5)).toEqual({ decision: "release" });
      }
    },
  );

  describe("with the answer of a hook", () => {
    const runAt = new Date("2030-01-01T00:00:00Z");
    const answers: [string, TaskRecoveryAnswer, Partial<TaskFacts>, object][] = [
      [
        "reschedule requeues the task",
        { action: "reschedule", runAt },
        { onCrash: "fail" },
        { decision: "requeue", due: { runAt } },
      ],
      [
        "reschedule may replace the retries spent",
        { action: "reschedule", runAt, attempts: 3 },
        {},
        { decision: "requeue", due: { runAt }, retries: 3 },
      ],
      [
        "failWithBackoff retries, whichever codes the policy lists",
        { action: "failWithBackoff" },
        { retry: busyOnly },
        { decision: "retry", delayMs: 500 },
      ],
      [
        "failWithBackoff ends a task without retries left",
        { action: "failWithBackoff" },
        { retry: busyOnly, retryCount: 1 },
        { decision: "fail" },
      ],
      [
        "failWithBackoff ends a task without a policy",
        { action: "failWithBackoff" },
        {},
        { decision: "fail" },
      ],
      [
        "skip lasts one more threshold",
        { action: "skip" },
        {},
        { decision: "skip", delayMs: 60_000 },
      ],
      [
        "skip lasts as long as it says",
        { action: "skip", untilMs: 5 },
        { crashCount: 9 },
        { decision: "skip", delayMs: 5 },
      ],
    ];

    test.each(answers)("%s", (_, answer, facts, expected) => {
      for (const circumstances of [off, on, shutdown]) {
        const decided = decideCrash({ ...running, ...facts }, { ...circumstances, answer }, 0.5);
        expect(decided).toEqual(expected);
      }
    });
  });

  describe("with crashes in a row", () => {
    const failed = {
      decision: "fail",
      remark: expect.stringContaining("maxCrashes is 3") as unknown,
    };

    test.each([
      ["requeue", { ...running, onCrash: "requeue", crashCount: 2 }, off],
      ["recovery", { ...running, crashCount: 2 }, on],
      ["policy", { ...running, retry: crashes, crashCount: 2 }, off],
      ["a hook", { ...running, crashCount: 2 }, { ...on, answer: { action: "failWithBackoff" } }],
      [
        "a hook that reschedules",
        { ...running, crashCount: 7 },
        { ...on, answer: { action: "reschedule", runAt: new Date(0) } },
      ],
    ] as [string, TaskFacts, CrashCircumstances][])(
      "fails a task at the third crash whatever %s says",
      (_, facts, circumstances) => expect(decideCrash(facts, circumstances, 0.5)).toEqual(failed),
    );

    test("does not fail it at the second, and fails it at the first with a limit of one", () => {
      expect(decideCrash({ ...running, crashCount: 1 }, on, 0.5)).toEqual(later);
      expect(decideCrash({ ...running, maxCrashes: 1 }, on, 0.5)).toMatchObject({
        decision: "fail",
        remark: "this was crash 1 in a row, and maxCrashes is 1: the task is not run again",
      });
    });

    test("does not count a shutdown", () => {
      expect(decideCrash({ ...running, crashCount: 9 }, shutdown, 0.5)).toEqual(atOnce);
    });
  });

  test("fails a task that could not return before its deadline, and releases one that never ran", () => {
    expect(decideCrash({ ...running, msUntilDeadline: 30_000 }, on, 0.5).decision).toBe("fail");
    expect(decideCrash({ ...running, msUntilDeadline: 30_001 }, on, 0.5)).toEqual(later);
    const retried = { ...running, retry: crashes, msUntilDeadline: 999 };
    expect(decideCrash(retried, off, 0.5).decision).toBe("fail");
    expect(decideCrash({ ...claimed, msUntilDeadline: -1 }, on, 0.5).decision).toBe("release");
  });

  describe("crashOptions", () => {
    test.each([
      [null, { retry: null, onCrash: undefined, maxCrashes: 3 }],
      ['{"onCrash":"requeue","maxCrashes":1}', { onCrash: "requeue", maxCrashes: 1 }],
      ['{"onCrash":"explode","maxCrashes":0}', { onCrash: undefined, maxCrashes: 3 }],
      ['{"maxCrashes":"7"}', { maxCrashes: 3 }],
      ["[1]", { retry: null, onCrash: undefined, maxCrashes: 3 }],
      ['"text"', { retry: null }],
    ])("reads the stored options %s", (options, expected) =>
      expect(crashOptions(options, undefined)).toMatchObject(expected),
    );

    test("reads the stored retry policy", () => {
      expect(crashOptions(JSON.stringify({ retry: crashes }), undefined).retry).toEqual(crashes);
    });
  });

  test("crashOptions takes the definition's options only for a task sent without any", () => {
    const definition = { retry: undefined, onCrash: "requeue", maxCrashes: 7 } as const;
    expect(crashOptions(null, definition)).toEqual({
      retry: null,
      onCrash: "requeue",
      maxCrashes: 7,
    });
    expect(crashOptions('{"timeoutMs": 5}', definition)).toEqual({
      retry: null,
      onCrash: undefined,
      maxCrashes: 3,
    });
  });
});
