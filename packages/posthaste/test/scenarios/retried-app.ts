/** The app of worker processes whose tasks fail in their first series, and succeed when an operator has retried them. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, fail, posthaste } from "posthaste";

/** A worker that is killed costs an attempt, and the task runs again by itself. */
export const recovers = defineTask({
  name: "recovers",
  errors: ["AWAY"],
  onCrash: "requeue",
  maxCrashes: 20,
  run: async (_input: null, { attempt }) => {
    if (attempt === 1) return fail("AWAY");
    await sleep(40); // so that a worker that is killed holds some
    return attempt;
  },
});

/** Its first attempt takes long enough to be frozen, and ends well all the same. */
export const oversleeps = defineTask({
  name: "oversleeps",
  queue: "frozen",
  run: async (_input: null, { attempt }) => {
    if (attempt === 1) await sleep(2_000);
    return attempt;
  },
});

export const app = posthaste({
  tasks: [recovers, oversleeps],
  recovery: { crashGraceMs: 1_000, checkIntervalMs: 1_000 },
});
