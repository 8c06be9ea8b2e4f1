import { describe, expect, test } from "vitest";
import { claimBudget } from "./claim-requester.ts";

describe("claimBudget", () => {
  test.each([
    [
      "claims for all slots when none runs and there is no buffer",
      { concurrency: 4, prefetchBuffer: 0, maxClaimPerWorker: 4 },
      { running: 0, prefetched: 0 },
      { toStart: 4, toPrefetch: 0 },
    ],
    [
      "claims for the free slots when some run",
      { concurrency: 4, prefetchBuffer: 0, maxClaimPerWorker: 4 },
      { running: 3, prefetched: 0 },
      { toStart: 1, toPrefetch: 0 },
    ],
    [
      "claims nothing when all slots are taken",
      { concurrency: 4, prefetchBuffer: 0, maxClaimPerWorker: 4 },
      { running: 4, prefetched: 0 },
      { toStart: 0, toPrefetch: 0 },
    ],
    [
      "fills the prefetch buffer as well",
      { concurrency: 4, prefetchBuffer: 2, maxClaimPerWorker: 6 },
      { running: 0, prefetched: 0 },
      { toStart: 4, toPrefetch: 2 },
    ],
    [
      "fills an empty buffer when all slots are taken",
      { concurrency: 4, prefetchBuffer: 2, maxClaimPerWorker: 6 },
      { running: 4, prefetched: 0 },
      { toStart: 0, toPrefetch: 2 },
    ],
    [
      "claims nothing when slots and buffer are full",
      { concurrency: 4, prefetchBuffer: 2, maxClaimPerWorker: 6 },
      { running: 4, prefetched: 2 },
      { toStart: 0, toPrefetch: 0 },
    ],
    [
      "counts a prefetched task for a free slot before a new claim",
      { concurrency: 4, prefetchBuffer: 2, maxClaimPerWorker: 6 },
      { running: 2, prefetched: 2 },
      { toStart: 2, toPrefetch: 0 },
    ],
    [
      "obeys maxClaimPerWorker",
      { concurrency: 8, prefetchBuffer: 0, maxClaimPerWorker: 2 },
      { running: 0, prefetched: 0 },
      { toStart: 2, toPrefetch: 0 },
    ],
    [
      "counts present claims against maxClaimPerWorker",
      { concurrency: 4, prefetchBuffer: 4, maxClaimPerWorker: 3 },
      { running: 4, prefetched: 2 },
      { toStart: 0, toPrefetch: 1 },
    ],
    [
      "claims nothing when maxClaimPerWorker is reached",
      { concurrency: 4, prefetchBuffer: 4, maxClaimPerWorker: 3 },
      { running: 4, prefetched: 3 },
      { toStart: 0, toPrefetch: 0 },
    ],
    [
      "claims nothing when recovered claims exceed the slots",
      { concurrency: 2, prefetchBuffer: 0, maxClaimPerWorker: 2 },
      { running: 3, prefetched: 0 },
      { toStart: 0, toPrefetch: 0 },
    ],
  ])("%s", (_, limits, inFlight, budget) => {
    expect(claimBudget(limits, limits, inFlight)).toEqual(budget);
  });
});
