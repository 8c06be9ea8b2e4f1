import { expect, test } from "vitest";
import { heldTransactions } from "../scenarios/held-transactions.ts";
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
}, 120_000);

test("forty bodies of a worker process that sit in ctx.transaction keep no other task from ending", async () => {
  expect(await heldTransactions(db.url, { held: 40, plain: 100 })).toMatchObject({
    openBefore: 40,
    openAfter: 40,
    plainCompleted: 100,
    effectsMeanwhile: 0,
    effects: 40,
    heldCompleted: 40,
  });
}, 60_000);
