import { beforeAll, describe, expect, test } from "vitest";
import { migrate } from "../../src/store/migrate.ts";
import { sql, statement, type SqlText } from "../../src/store/sql.ts";
import { createStore } from "../../src/store/store.ts";
import { BEGIN } from "../../src/store/transaction.ts";
import { figures } from "../support/figures.ts";
import { useDatabase } from "../support/database.ts";
import { explain, prepare, rowsRead, scannedTables } from "./explain.ts";
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
});

describe("hot statements", () => {
  describe.each(hotCalls(millions))("$name", (hotCall) => {
    const {
      name,
      profile,
      call,
      answers,
      indexes,
      scans = [],
      mostBuffers,
      mostRows = 500,
    } = hotCall;

    // PostgreSQL makes a plan of its own for each of the first five runs on a "reads" session, then may keep one for all.
    test.each([1, 7])("uses its index among millions of rows, on execution %i", async (runs) => {
      const connection = await db.connect(profile);

      const prepared = await prepare(connection, (recorder) => call(store, recorder), runs);
      const plan = await explain(connection, prepared);

      figures(name, { ms: plan.executionMs, buffers: plan.buffers, by: plan.indexes.join(" + ") });
      if (answers !== undefined) expect(plan.nodes[0]?.["Actual Rows"]).toBe(answers);
      expect([...new Set(plan.scannedTables)]).toEqual(scans);
      expect(plan.indexes).toEqual(expect.arrayContaining([...indexes]));
      expect(plan.buffers).toBeLessThan(mostBuffers);
      expect(plan.rowsRead).toBeLessThanOrEqual(mostRows);
    });
  });

  test("claim of 100 reads little more than 100 rows, whatever is due tomorrow", async () => {
    const lanes = [1, 100].map((priority) => ({ queue: "default", priority, mark: -Infinity }));
    const request = { lanes, limit: 100, workerId: workerId(1), leaseMs: 1_000 };
    const connection = await db.connect();

    const prepared = await prepare(connection, (recorder) =>
      store.claimAndStart(recorder, request),
    );
    const plan = await explain(connection, prepared);

    const inLine = plan.nodes.filter((node) => node["Index Name"] === "ready_tasks_claim_idx");
    const met = inLine.map(rowsRead).reduce((sum, rows) => sum + rows, 0);
    expect(met).toBeGreaterThanOrEqual(100);
    expect(met).toBeLessThanOrEqual(110);
    const steps = plan.nodes.map((node) => node["Node Type"]);
    expect(steps).toEqual(expect.arrayContaining(["Tid Scan", "LockRows"]));
  });

  const readyRows = [
    ["was never claimed", taskId(7), 1],
    ["is due tomorrow", taskId(millions.ready), 1],
    ["came back", taskId(3), 1],
    ["runs", taskId(millions.all), 0],
    ["does not exist", taskId(4_000_000), 0],
  ] as const;

  test.each(readyRows)(
    "find the ready row of a task that %s by both indexes",
    async (_, id, rows) => {
      const connection = await db.connect("reads");
      const body = statement(await readyRowBody());

      const prepared = await prepare(connection, (recorder) => recorder.query(body, [id]));
      const plan = await explain(connection, prepared);

      expect(plan.nodes[0]?.["Actual Rows"]).toBe(rows);
      expect(plan.scannedTables).toEqual([]);
      expect(plan.indexes).toEqual([
        "ready_tasks_claim_idx",
        "ready_tasks_id_idx",
        "submissions_pkey",
      ]);
      expect(plan.rowsRead).toBeLessThanOrEqual(2);
    },
  );

  /** The statement of `ready_row`, with its argument as $1: EXPLAIN does not look into functions. */
  async function readyRowBody(): Promise<SqlText> {
    const [row] = await db.sql<{ body: string }>(
      "select pg_get_function_sqlbody('filled.ready_row'::regproc) as body",
    );
    const [, body] = /^BEGIN ATOMIC\s(.*);\s+END$/s.exec(row?.body ?? "") ?? [];
    if (body === undefined) throw new Error("ready_row has no body");
    return body.replaceAll("ready_row.id", "$1") as SqlText;
  }

  test.each(readyRows)(
    "ready_row of a task that %s reads a few pages, also when executed again",
    async (_, id, rows) => {
      const connection = await db.connect("reads");
      const call = statement(sql`select filled.ready_row($1)`);

      for (const runs of [1, 7]) {
        const prepared = await prepare(connection, (recorder) => recorder.query(call, [id]), runs);
        const plan = await explain(connection, prepared);

        expect(plan.nodes[0]?.["Actual Rows"]).toBe(rows);
        expect(plan.buffers).toBeLessThan(50);
      }
    },
  );

  const actions = {
    cancel: sql`select filled.cancel($1)`,
    requeue: sql`select filled.requeue($1)`,
    fail: sql`select filled.fail($1, 'BROKEN')`,
  };

  test.each([
    ["cancel", "a task that was never claimed", taskId(7)],
    ["cancel", "a task that is due tomorrow", taskId(millions.ready)],
    ["cancel", "a task that came back", taskId(3)],
    ["cancel", "a running task", taskId(millions.all)],
    ["cancel", "a finished task", taskId(millions.finished)],
    ["requeue", "a task that was never claimed", taskId(7)],
    ["requeue", "a task that came back", taskId(3)],
    ["requeue", "a running task", taskId(millions.all)],
    ["fail", "a task that was never claimed", taskId(7)],
    ["fail", "a task that came back", taskId(3)],
    ["fail", "a running task", taskId(millions.all)],
  ] as const)("%s on %s reads no table from end to end", async (action, _, id) => {
    const connection = await db.connect("reads");
    await connection.query(BEGIN);

    await connection.query(statement(actions[action]), [id]);

    expect(await scannedTables(connection, SCHEMA)).toEqual([]);
  });

  test("telling waiters reads no table from end to end", async () => {
    const connection = await db.connect();
    await connection.query(BEGIN);
    const ids = Array.from({ length: 100 }, (_, n) => taskId(n * 7));

    await store.awaitResults.notify(connection, ids);

    expect(await scannedTables(connection, SCHEMA)).toEqual([]);
  });
});
