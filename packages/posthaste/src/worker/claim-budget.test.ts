import { expect, test } from "vitest";
import { claimBudget } from "./claim-budget.ts";

/** concurrency, prefetchBuffer, maxClaimPerWorker, running, ahead → to run now, to hold for later */
test.each([
  ["nothing held, no buffer", 4, 0, 4, 0, 0, 4, 0],
  ["some run", 4, 0, 4, 3, 0, 1, 0],
  ["all slots taken", 4, 0, 4, 4, 0, 0, 0],
  ["a buffer is filled as well", 4, 2, 6, 0, 0, 4, 2],
  ["slots taken, buffer empty", 4, 2, 6, 4, 0, 0, 2],
  ["slots taken, buffer full", 4, 2, 6, 4, 2, 0, 0],
  ["what waits in the buffer takes a free slot before anything new", 4, 2, 6, 2, 2, 2, 0],
  ["maxClaimPerWorker limits a pass", 8, 0, 2, 0, 0, 2, 0],
  ["and counts what is claimed already", 4, 4, 3, 4, 2, 0, 1],
  ["to nothing", 4, 4, 3, 4, 3, 0, 0],
  ["more runs than fits: tasks that were found again", 2, 0, 2, 3, 0, 0, 0],
])("%s", (_, concurrency, prefetchBuffer, maxClaimPerWorker, running, ahead, now, later) => {
  expect(
    claimBudget({ concurrency, maxClaimPerWorker }, { prefetchBuffer }, { running, ahead }),
  ).toEqual({ now, ahead: later });
});
