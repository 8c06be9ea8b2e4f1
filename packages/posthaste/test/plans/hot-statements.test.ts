import { beforeAll, describe, expect, test } from "vitest";
import type { Connection } from "../../src/store/connection.ts";
import { migrate } from "../../src/store/migrate.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { createStore } from "../../src/store/store.ts";
import { BEGIN } from "../../src/store/transaction.ts";
import { figures } from "../support/figures.ts";
import { useDatabase } from "../support/database.ts";
import { explain, prepare, rowsRead } from "./explain.ts";
import { hotCalls } from "./hot-calls.ts";
import { fillSchema, millions, taskId, workerId } from "./million-rows.ts";

// In a schema of its own: the check of the conservation law would read the millions after every test.
const SCHEMA = "filled";
const db = useDatabase({ isEmpty: true });
const store = createStore(SCHEMA);

beforeAll(async () => {
  await migrate(await db.connect("reads"), SCHEMA);
  await fillSchema(db, SCHEMA, millions);
  await db.sql("analyze");
}, 180_000);

describe.each(hotCalls(millions))("$name", ({ name, profile, call, indexes, mostBuffers }) => {
  // PostgreSQL makes a plan of its own for each of the first five runs on a "reads" session, then may keep one for all.
  test.each([1, 7])("is served by its index among millions of rows, on run %i", async (runs) => {
    const connection = await db.connect(profile);

    const prepared = await prepare(connection, (recorder) => call(store, recorder), runs);
    const plan = await explain(connection, prepared);

    figures(name, { ms: plan.executionMs, buffers: plan.buffers, by: plan.indexes.join(" + ") });
    expect(plan.scannedTables).toEqual([]);
    expect(plan.indexes).toEqual(expect.arrayContaining([...indexes]));
    expect(plan.buffers).toBeLessThan(mostBuffers);
    expect(plan.rowsRead).toBeLessThanOrEqual(500);
  });
});

test("a claim of 100 visits hardly more than the 100, whatever is due tomorrow", async () => {
  const lanes = [1, 100].map((priority) => ({ queue: "default", priority, mark: -Infinity }));
  const request = { lanes, limit: 100, workerId: workerId(1), leaseMs: 1_000 };
  const connection = await db.connect();

  const prepared = await prepare(connection, (recorder) => store.claimAndStart(recorder, request));
  const plan = await explain(connection, prepared);

  const inLine = plan.nodes.filter((node) => node["Index Name"] === "ready_tasks_claim_idx");
  const met = inLine.map(rowsRead).reduce((sum, rows) => sum + rows, 0);
  expect(met).toBeGreaterThanOrEqual(100);
  expect(met).toBeLessThanOrEqual(110);
  expect(plan.nodes.map((node) => node["Node Type"])).toContain("Tid Scan");
});

/** Tables that the session's transaction has read from end to end, inside functions too. */
function scannedTables(connection: Connection): Promise<{ table: string }[]> {
  return connection.query(
    statement(sql`
      select relname as "table" from pg_stat_xact_user_tables
       where schemaname = 'filled' and seq_scan > 0`),
  );
}

const actions = {
  cancel: sql`select filled.cancel($1)`,
  requeue: sql`select filled.requeue($1)`,
  fail: sql`select filled.fail($1, 'BROKEN')`,
};

test.each([
  ["cancel", "a pending task", taskId(7)],
  ["cancel", "a running task", taskId(millions.all)],
  ["cancel", "a finished task", taskId(millions.finished)],
  ["requeue", "a running task", taskId(millions.all)],
  ["fail", "a pending task", taskId(7)],
  ["fail", "a running task", taskId(millions.all)],
] as const)("%s on %s reads no table from end to end", async (action, _, id) => {
  const connection = await db.connect("reads");
  await connection.query(BEGIN);

  await connection.query(statement(actions[action]), [id]);

  expect(await scannedTables(connection)).toEqual([]);
});

test("telling waiters reads no table from end to end", async () => {
  const connection = await db.connect();
  await connection.query(BEGIN);
  const ids = Array.from({ length: 100 }, (_, n) => taskId(n * 7));

  await store.awaitResults.notify(connection, ids);

  expect(await scannedTables(connection)).toEqual([]);
});
