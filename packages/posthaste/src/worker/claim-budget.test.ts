import { expect, test } from "vitest";
import { claimBudget } from "./claim-budget.ts";

test.each([
  [
    "nothing held, no buffer",
    { concurrency: 4, prefetchBuffer: 0, maxClaimPerWorker: 4 },
    { running: 0, ahead: 0 },
    { now: 4, ahead: 0 },
  ],
  [
    "some run",
    { concurrency: 4, prefetchBuffer: 0, maxClaimPerWorker: 4 },
    { running: 3, ahead: 0 },
    { now: 1, ahead: 0 },
  ],
  [
    "all slots taken",
    { concurrency: 4, prefetchBuffer: 0, maxClaimPerWorker: 4 },
    { running: 4, ahead: 0 },
    { now: 0, ahead: 0 },
  ],
  [
    "a buffer is filled as well",
    { concurrency: 4, prefetchBuffer: 2, maxClaimPerWorker: 6 },
    { running: 0, ahead: 0 },
    { now: 4, ahead: 2 },
  ],
  [
    "slots taken, buffer empty",
    { concurrency: 4, prefetchBuffer: 2, maxClaimPerWorker: 6 },
    { running: 4, ahead: 0 },
    { now: 0, ahead: 2 },
  ],
  [
    "slots taken, buffer full",
    { concurrency: 4, prefetchBuffer: 2, maxClaimPerWorker: 6 },
    { running: 4, ahead: 2 },
    { now: 0, ahead: 0 },
  ],
  [
    "what waits in the buffer takes a free slot before anything new",
    { concurrency: 4, prefetchBuffer: 2, maxClaimPerWorker: 6 },
    { running: 2, ahead: 2 },
    { now: 2, ahead: 0 },
  ],
  [
    "maxClaimPerWorker limits a pass",
    { concurrency: 8, prefetchBuffer: 0, maxClaimPerWorker: 2 },
    { running: 0, ahead: 0 },
    { now: 2, ahead: 0 },
  ],
  [
    "and counts what is claimed already",
    { concurrency: 4, prefetchBuffer: 4, maxClaimPerWorker: 3 },
    { running: 4, ahead: 2 },
    { now: 0, ahead: 1 },
  ],
  [
    "to nothing",
    { concurrency: 4, prefetchBuffer: 4, maxClaimPerWorker: 3 },
    { running: 4, ahead: 3 },
    { now: 0, ahead: 0 },
  ],
  [
    "more runs than fits: tasks that were found again",
    { concurrency: 2, prefetchBuffer: 0, maxClaimPerWorker: 2 },
    { running: 3, ahead: 0 },
    { now: 0, ahead: 0 },
  ],
])("%s", (_, limits, held, budget) => {
  expect(claimBudget(limits, limits, held)).toEqual(budget);
});
