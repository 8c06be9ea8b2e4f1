import { expect, test } from "vitest";
import { resultsOnFullDisk, resultsRefusedWith } from "../scenarios/refused-results.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";
import { canMountDisk } from "../support/small-disk.ts";

const db = useDatabase();
useCleanTables(db);

const kept = {
  tasks: 8,
  completed: 8,
  ranTwice: 0,
  recoveries: 0,
  storedMeanwhile: 0,
  exitCode: 0,
};

// 53200 and 58030 are no different to a worker: see test/worker/kept-results.test.ts.
test("a worker process keeps results that the database refuses with XX000 and writes them later, and senders get a retryable error", async () => {
  const report = await resultsRefusedWith(db.url, "XX000");
  figures("XX000", report);
  expect(report).toMatchObject({ ...kept, sqlStates: ["XX000"] });
  expect(report.sends).toEqual(["DATABASE_UNAVAILABLE, retryable", "sent"]);
  expect(report.writtenAfterMs).toBeLessThan(15_000);
}, 120_000);

test.skipIf(!canMountDisk())(
  "a worker process keeps every result while the disk is full (53100), and writes it when there is room",
  async () => {
    const report = await resultsOnFullDisk(db.url);
    figures("disk full", report);
    expect(report).toMatchObject({ ...kept, sqlStates: ["53100"] });
    expect(report.writtenAfterMs).toBeLessThan(15_000);
  },
  120_000,
);
