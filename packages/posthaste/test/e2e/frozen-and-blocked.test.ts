/** Workers that do not answer for a while: frozen, and with an event loop that does not turn. */
import { expect, inject, test } from "vitest";
import { createThrowawayDatabase } from "../../src/store/throwaway-database.ts";
import { blockedForAWhile, blockedForEver } from "../scenarios/blocked-loops.ts";
import { longFreeze, shortFreeze } from "../scenarios/frozen-workers.ts";
import { lockedHeartbeats } from "../scenarios/locked-heartbeats.ts";
import { SOON_MS } from "../support/soon.ts";

async function onDatabase<Answer>(use: (url: string) => Promise<Answer>): Promise<Answer> {
  const database = await createThrowawayDatabase({
    serverUrl: inject("serverUrl"),
    schema: "posthaste",
  });
  try {
    return await use(database.url);
  } finally {
    await database.drop();
  }
}

test("frozen for less than the thresholds: nothing is recovered, nothing is lost", async () => {
  expect(await onDatabase((url) => shortFreeze(url, 8_000))).toEqual({
    tasks: 6,
    recoveries: 0,
    deaths: 0,
    completedAtFirst: 6,
  });
});

test("frozen beyond the thresholds: whatever the zombie tries is refused, and the new owner's result stands", async () => {
  const report = await onDatabase(longFreeze);
  const second = { ok: true, value: "second" };
  expect(report).toMatchObject({
    result: second,
    resultAfterwards: second,
    outcomes: ["1 WORKER_FAILURE", "2 COMPLETED"],
    reason: "run stale",
    heartbeats: 0,
    progress: null,
    children: 0,
    childRefused: true,
    worksOn: { ok: true, value: 1 },
  });
  expect(report.zombieSaid.length).toBeGreaterThan(0);
});

test("an event loop that is blocked for less than the threshold costs nothing, whatever happens to its listener", async () => {
  const report = await onDatabase(blockedForAWhile);
  expect(report).toMatchObject({
    recoveries: 0,
    deaths: 0,
    attempts: [1, 1],
    saidBlocked: true,
    itsListenerEnded: true,
  });
});

test("one that never turns again loses its tasks when the threshold has passed, and the report says why", async () => {
  const report = await onDatabase(blockedForEver);
  expect(report).toMatchObject({ error: "WORKER_CRASHED", besideCompleted: true });
  expect(report.reason).toContain("event loop blocked");
  expect(report.recoveredAfterMs).toBeGreaterThan(report.thresholdMs);
  expect(report.recoveredAfterMs).toBeLessThan(report.thresholdMs + SOON_MS);
});

test("no worker can write a heartbeat for five sweep thresholds: none is swept, and every handler runs once", async () => {
  expect(await onDatabase(lockedHeartbeats)).toMatchObject({
    tasks: 6,
    handlerRuns: 6,
    completed: 6,
    recoveries: 0,
    deaths: 0,
  });
});
