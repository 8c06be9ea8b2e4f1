/** The long cases of frozen-and-blocked.test.ts: a threshold that passes, heartbeats that no worker can write. */
import { expect, test } from "vitest";
import { blockedForEver } from "../scenarios/blocked-loops.ts";
import { lockedHeartbeats } from "../scenarios/locked-heartbeats.ts";
import { onDatabase } from "../support/on-database.ts";
import { SOON_MS } from "../support/soon.ts";

test("a worker whose event loop never turns again loses its tasks after the threshold, and the recovery names the reason", async () => {
  const report = await onDatabase(blockedForEver);
  expect(report).toMatchObject({ error: "WORKER_CRASHED", besideCompleted: true });
  expect(report.reason).toContain("event loop blocked");
  expect(report.recoveredAfterMs).toBeGreaterThan(report.thresholdMs);
  expect(report.recoveredAfterMs).toBeLessThan(report.thresholdMs + SOON_MS);
});

test("no worker is swept while none can write a heartbeat for five sweep thresholds, and every handler runs once", async () => {
  expect(await onDatabase(lockedHeartbeats)).toMatchObject({
    tasks: 6,
    handlerRuns: 6,
    completed: 6,
    recoveries: 0,
    deaths: 0,
  });
});
