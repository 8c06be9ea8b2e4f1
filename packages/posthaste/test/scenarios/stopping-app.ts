/** The app of worker processes that are told to stop while they are busy. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, fixed, posthaste } from "posthaste";

/** A retry would be allowed, and take its time: none may be spent on a worker that stops. */
const retry = fixed({ intervalsMs: [60_000], retryFor: "any" });

const LONG_MS = 600_000;

export const short = defineTask({
  name: "short",
  retry,
  run: async () => {
    await sleep(5 + Math.random() * 20);
    return "done";
  },
});

/** Ends when it is told to, with a value. */
export const savesItsWork = defineTask({
  name: "saves-its-work",
  retry,
  run: async (_input: null, { signal }) => {
    await sleep(LONG_MS, null, { signal }).catch(() => undefined); // aborted
    return "saved";
  },
});

/** Ends when it is told to, with the error of what it was waiting for; its next attempt is quick. */
export const letsItselfAbort = defineTask({
  name: "lets-itself-abort",
  retry,
  run: async (_input: null, { signal, attempt }) => {
    if (attempt === 1) await sleep(LONG_MS, null, { signal });
    return "second time";
  },
});

/** Does not end when it is told to; its next attempt is quick. */
export const ignoresItsSignal = defineTask({
  name: "ignores-its-signal",
  retry,
  run: async (_input: null, { attempt }) => {
    if (attempt === 1) await sleep(LONG_MS);
    return "second time";
  },
});

export const app = posthaste({
  tasks: [short, savesItsWork, letsItselfAbort, ignoresItsSignal],
  prefetchBuffer: 20,
});
