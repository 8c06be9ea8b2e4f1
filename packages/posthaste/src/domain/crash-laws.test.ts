/** Rules that hold for every task, cause, setting and answer of a hook. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fixed } from "../define/retry-policies.ts";
import {
  decideCrash,
  type CrashCircumstances,
  type TaskFacts,
  type TaskRecoveryAnswer,
} from "./crash-policy.ts";
import { CRASH_RULES } from "./crash-policy.ts";
import type { RecoveryCause } from "./interruption.ts";
import { maxRetries } from "./retry.ts";

const crashes = fixed({ intervalsMs: [1_000, 2_000], retryFor: ["WORKER_CRASHED"], jitter: false });
const busyOnly = fixed({ intervalsMs: [500], retryFor: ["BUSY"], jitter: false });

const causes: readonly RecoveryCause[] = [
  "worker crashed",
  "worker silent",
  "worker unknown",
  "worker cut off",
  "claim stale",
  "claim unknown",
  "lease expired",
  "run stale",
  "shutdown",
];

const tasks: fc.Arbitrary<TaskFacts> = fc.record({
  isStarted: fc.boolean(),
  isCancelRequested: fc.boolean(),
  retry: fc.constantFrom(null, crashes, busyOnly),
  retryCount: fc.nat(3),
  crashCount: fc.nat(5),
  onCrash: fc.constantFrom(undefined, ...CRASH_RULES),
  maxCrashes: fc.integer({ min: 1, max: 5 }),
  msUntilDeadline: fc.option(fc.integer({ min: -100_000, max: 100_000 })),
});

const circumstances: fc.Arbitrary<CrashCircumstances> = fc.record({
  cause: fc.constantFrom(...causes),
  settings: fc.record({ enabled: fc.boolean(), recoveryDelayMs: fc.nat(60_000) }),
  answer: fc.oneof(
    fc.constantFrom<TaskRecoveryAnswer>({ action: "default" }, { action: "failWithBackoff" }),
    fc.record({ action: fc.constant("skip" as const), untilMs: fc.nat(60_000) }),
    fc.record({
      action: fc.constant("reschedule" as const),
      runAt: fc.date({ noInvalidDate: true }),
      attempts: fc.nat(3),
    }),
  ),
  thresholdMs: fc.nat(300_000),
});

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("decideCrash", () => {
  test("cancels exactly the tasks with a requested cancellation", () => {
    fc.assert(
      fc.property(tasks, circumstances, random, (task, how, dice) => {
        const { decision } = decideCrash(task, how, dice);
        expect(decision === "cancel").toBe(task.isCancelRequested);
      }),
    );
  });

  test("skips exactly when the hook answers skip", () => {
    fc.assert(
      fc.property(tasks, circumstances, random, (task, how, dice) => {
        const { decision } = decideCrash({ ...task, isCancelRequested: false }, how, dice);
        expect(decision === "skip").toBe(how.answer.action === "skip");
      }),
    );
  });

  test("returns no running task to its queue after maxCrashes crashes", () => {
    fc.assert(
      fc.property(tasks, circumstances, random, (task, how, dice) => {
        const { decision } = decideCrash(task, how, dice);
        if (how.cause === "shutdown" || !task.isStarted) return;
        if (task.crashCount + 1 >= task.maxCrashes)
          expect(["fail", "cancel", "skip"]).toContain(decision);
      }),
    );
  });

  test("retries only a task with a retry left", () => {
    fc.assert(
      fc.property(tasks, circumstances, random, (task, how, dice) => {
        if (decideCrash(task, how, dice).decision !== "retry") return;
        expect(task.retryCount).toBeLessThan(task.retry === null ? 0 : maxRetries(task.retry));
      }),
    );
  });

  test("releases a claimed task that has not started, unless a hook answers", () => {
    fc.assert(
      fc.property(tasks, circumstances, random, (task, how, dice) => {
        const facts = { ...task, isStarted: false, isCancelRequested: false };
        const answer = { action: "default" } as const;
        expect(decideCrash(facts, { ...how, answer }, dice)).toEqual({ decision: "release" });
      }),
    );
  });

  test("returns no task to its queue later than its deadline", () => {
    fc.assert(
      fc.property(tasks, circumstances, random, (task, how, dice) => {
        const decided = decideCrash(task, how, dice);
        if (task.msUntilDeadline === null) return;
        if (decided.decision === "retry")
          expect(decided.delayMs).toBeLessThan(task.msUntilDeadline);
        if (decided.decision === "requeue" && "delayMs" in decided.due)
          expect(decided.due.delayMs).toBeLessThan(task.msUntilDeadline);
      }),
    );
  });
});
