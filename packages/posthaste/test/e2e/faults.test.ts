import { expect, test } from "vitest";
import { cutConnections } from "../scenarios/cut-connections.ts";
import { frozenWorker } from "../scenarios/frozen-worker.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

test("a worker that was frozen while another one completed its task changes nothing, and logs the lost claim", async () => {
  const report = await frozenWorker(db.url);

  expect(report.resultBefore).toMatchObject({ ok: true, value: { pid: report.ownerPid } });
  expect(report.resultAfter).toEqual(report.resultBefore);
  expect(report.rowsChanged).toBe(false);
  expect(report.attempts).toEqual(["1 INTERRUPTED", "2 COMPLETED"]);
  expect(report.zombieSaid).toContain("claim lost");
});

test("connections cut at random lose no acknowledged send, run no handler twice and leave no waiter without its result", async () => {
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
