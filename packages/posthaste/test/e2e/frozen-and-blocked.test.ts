/** Workers that do not answer for a while: frozen, and with an event loop that does not turn. */
import { expect, test } from "vitest";
import { blockedForAWhile } from "../scenarios/blocked-loops.ts";
import { longFreeze, shortFreeze } from "../scenarios/frozen-workers.ts";
import { onDatabase } from "../support/on-database.ts";

test("a worker frozen for less than the thresholds keeps its tasks, and all complete at their first attempt", async () => {
  expect(await onDatabase((url) => shortFreeze(url, 8_000))).toEqual({
    tasks: 6,
    recoveries: 0,
    deaths: 0,
    completedAtFirst: 6,
  });
});

test("a worker frozen beyond the thresholds can write nothing for its lost task, and the new owner's result stands", async () => {
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

test("a worker whose event loop is blocked for less than the threshold keeps its tasks, though its listener's session ends", async () => {
  const report = await onDatabase(blockedForAWhile);
  expect(report).toMatchObject({
    recoveries: 0,
    deaths: 0,
    attempts: [1, 1],
    saidBlocked: true,
    itsListenerEnded: true,
  });
});
