/** Workers that do not answer for a while: frozen, and with an event loop that does not turn. */
import { expect, test } from "vitest";
import { blockedForAWhile } from "../scenarios/blocked-loops.ts";
import { longFreeze, shortFreeze } from "../scenarios/frozen-workers.ts";
import { onDatabase } from "../support/on-database.ts";

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
