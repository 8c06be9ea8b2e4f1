import { expect, test } from "vitest";
import { killedWorkers } from "../scenarios/killed-workers.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

test("worker processes killed with SIGKILL leave one effect for every completed task, and none for the others", async () => {
  const report = await killedWorkers({
    url: db.url,
    kills: 10,
    processes: 2,
    random: Math.random,
  });
  expect(report).toMatchObject({
    kills: 10,
    wrong: [],
    completed: report.sent,
    effects: report.sent,
  });
  expect(report.checks).toBeGreaterThan(10);
  expect(report.killsInFlight).toBeGreaterThan(0);
});
