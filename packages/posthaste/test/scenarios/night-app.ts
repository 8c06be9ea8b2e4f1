/** The app of a night in which everything fails once: see failing-night.ts. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, fail, fixed, posthaste, TaskError } from "posthaste";
import { z } from "zod";

const failing = (name: string, run: () => unknown) =>
  defineTask({ name, run: () => run() as null });

export const throwsError = failing("throws-error", () => {
  throw new Error("the printer is on fire");
});
export const throwsText = failing("throws-text", () => {
  throw "no reason"; // oxlint-disable-line no-throw-literal, only-throw-error
});
export const throwsMany = failing("throws-many", () =>
  Promise.any([Promise.reject(new Error("mirror 1")), Promise.reject(new Error("mirror 2"))]),
);
export const declined = defineTask({
  name: "declined",
  errors: ["CARD_DECLINED"],
  run: () => fail("CARD_DECLINED", "the bank said no", { last4: "0042" }),
});
export const deep = defineTask({
  name: "deep",
  errors: ["NO_STOCK"],
  run: (): null => {
    throw new TaskError("NO_STOCK", "none left");
  },
});
export const flaky = defineTask({
  name: "flaky",
  errors: ["BUSY"],
  retry: fixed({ intervalsMs: [100], retryFor: ["BUSY"], jitter: false }),
  run: () => fail("BUSY", "try later"),
});
export const slow = defineTask({
  name: "slow",
  timeoutMs: 200,
  run: (_input: null, ctx) => sleep(60_000, null, { signal: ctx.signal }),
});
export const deaf = defineTask({ name: "deaf", timeoutMs: 200, run: () => sleep(3_000, null) });
export const unstorable = failing("unstorable", () => ({ at: new Date(0) }));
export const refusedOutput = defineTask({
  name: "refused-output",
  output: z.object({ total: z.number().min(1) }),
  run: () => ({ total: 0 }),
});
export const checked = defineTask({
  name: "checked",
  input: z.object({ cents: z.number() }),
  run: ({ cents }) => cents,
});
export const careless = failing("careless", () => {
  void Promise.reject(new Error("nobody waited for this"));
  return sleep(100, null);
});
export const cancelled = defineTask({
  name: "cancelled",
  run: (_input: null, ctx) => sleep(60_000, null, { signal: ctx.signal }),
});
export const expired = defineTask({ name: "expired", run: () => null });
export const exits = failing("exits", () => process.exit(7));
export const spins = failing("spins", () => {
  for (;;);
});
export const threadThrows = defineTask({
  name: "thread-throws",
  blocking: true,
  run: (): null => {
    throw new Error("in a thread");
  },
});
export const threadExits = defineTask({
  name: "thread-exits",
  blocking: true,
  run: (): null => process.exit(3),
});
export const flood = failing("flood", () => {
  throw new Error("the same for all");
});
export const large = defineTask({ name: "large", run: () => "x".repeat(2_000_000) });

export const app = posthaste({
  tasks: [
    throwsError,
    throwsText,
    throwsMany,
    declined,
    deep,
    flaky,
    slow,
    deaf,
    unstorable,
    refusedOutput,
    checked,
    careless,
    cancelled,
    expired,
    exits,
    spins,
    threadThrows,
    threadExits,
    flood,
    large,
  ],
  resilience: { dbRetryInitialMs: 100, dbRetryMaxMs: 500, notifyPollIntervalMs: 1_000 },
  recovery: {
    crashGraceMs: 1_000,
    runnerHeartbeatIntervalMs: 1_000,
    claimerHeartbeatIntervalMs: 1_000,
    runningStaleThresholdMs: 4_000,
    claimedStaleThresholdMs: 4_000,
    checkIntervalMs: 10_000, // a claim finds the expired task before a round does
  },
  hooks: {
    taskFailed: ({ name }) => {
      if (name === "declined") throw new Error("the pager is broken");
    },
  },
});
