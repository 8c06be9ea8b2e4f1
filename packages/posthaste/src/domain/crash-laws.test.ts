/** What holds for every task, whatever happened and whatever anybody said. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fixed } from "../define/retry-policies.ts";
import {
  decideCrash,
  type CrashCircumstances,
  type HeldFacts,
  type TaskRecoveryAnswer,
} from "./crash-policy.ts";
import { CRASH_RULES } from "./crash-rule.ts";
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

const tasks: fc.Arbitrary<HeldFacts> = fc.record({
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

test("a requested cancellation wins, and only then is anything cancelled", () => {
  fc.assert(
    fc.property(tasks, circumstances, random, (task, how, dice) => {
      const { decision } = decideCrash(task, how, dice);
      expect(decision === "cancel").toBe(task.isCancelRequested);
    }),
  );
});

test("a skip is the hook's, and is kept", () => {
  fc.assert(
    fc.property(tasks, circumstances, random, (task, how, dice) => {
      const { decision } = decideCrash({ ...task, isCancelRequested: false }, how, dice);
      expect(decision === "skip").toBe(how.answer.action === "skip");
    }),
  );
});

test("no running task is back in the line after as many crashes as it may have", () => {
  fc.assert(
    fc.property(tasks, circumstances, random, (task, how, dice) => {
      const { decision } = decideCrash(task, how, dice);
      if (how.cause === "shutdown" || !task.isStarted) return;
      if (task.crashCount + 1 >= task.maxCrashes)
        expect(["fail", "cancel", "skip"]).toContain(decision);
    }),
  );
});

test("a retry has a retry left to spend", () => {
  fc.assert(
    fc.property(tasks, circumstances, random, (task, how, dice) => {
      if (decideCrash(task, how, dice).decision !== "retry") return;
      expect(task.retryCount).toBeLessThan(task.retry === null ? 0 : maxRetries(task.retry));
    }),
  );
});

test("what was only claimed never fails by rule", () => {
  fc.assert(
    fc.property(tasks, circumstances, random, (task, how, dice) => {
      const facts = { ...task, isStarted: false, isCancelRequested: false };
      const answer = { action: "default" } as const;
      expect(decideCrash(facts, { ...how, answer }, dice)).toEqual({ decision: "release" });
    }),
  );
});

test("no return is later than the deadline", () => {
  fc.assert(
    fc.property(tasks, circumstances, random, (task, how, dice) => {
      const decided = decideCrash(task, how, dice);
      if (task.msUntilDeadline === null) return;
      if (decided.decision === "retry") expect(decided.delayMs).toBeLessThan(task.msUntilDeadline);
      if (decided.decision === "requeue" && "delayMs" in decided.due)
        expect(decided.due.delayMs).toBeLessThan(task.msUntilDeadline);
    }),
  );
});
