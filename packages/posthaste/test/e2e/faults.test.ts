import { expect, test } from "vitest";
import { cutConnections } from "../scenarios/cut-connections.ts";
import { frozenWorker } from "../scenarios/frozen-worker.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

test("a worker that was frozen while its task was completed elsewhere changes nothing and says so", async () => {
  const report = await frozenWorker(db.url);

  expect(report.resultBefore).toMatchObject({ ok: true, value: { pid: report.ownerPid } });
  expect(report.resultAfter).toEqual(report.resultBefore);
  expect(report.rowsChanged).toBe(false);
  expect(report.attempts).toEqual(["1 INTERRUPTED", "2 COMPLETED"]);
  expect(report.zombieSaid).toContain("claim lost");
});

test("connections cut at random lose no acknowledged send, run no body twice and leave no waiter alone", async () => {
  const report = await cutConnections({
    url: db.url,
    sends: 1_000,
    callers: 16,
    faultRate: 0.04,
    random: Math.random,
  });

  expect(Object.values(report.cuts).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(10);
  expect(report).toMatchObject({ missing: 0, wrongResults: 0, ranTwice: 0, neverRan: 0 });
  expect(report.completed).toBe(report.acknowledged);
  expect(report.mostAtOnce).toBeLessThanOrEqual(20);
});
