/** Lists of operators among two million tasks: by index or within a bounded window, and within 100 ms. */
import { beforeAll, describe, expect, test } from "vitest";
import { migrate } from "../../src/store/migrate.ts";
import type { TaskConditions, Walk } from "../../src/store/queries/operate/list-tasks.ts";
import { createStore } from "../../src/store/store.ts";
import { figures } from "../support/figures.ts";
import { useDatabase } from "../support/database.ts";
import { explain, prepare, scannedBy } from "./explain.ts";
import { fillSchema, millions, taskId, workerId } from "./million-rows.ts";

const SCHEMA = "filled";
const db = useDatabase({ isEmpty: true });
const store = createStore(SCHEMA);

/** Rows of one page, and what a full window reads of submissions. */
const WINDOW_ROWS = 20_500;

beforeAll(async () => {
  await migrate(await db.connect("reads"), SCHEMA);
  await fillSchema(db, SCHEMA, millions);
  // Half of the ends are of an older library.
  await db.sql(`
    update ${SCHEMA}.finished_tasks set name = 'some-task', queue = 'default'
     where status is not null and ('x' || right(task_id::text, 2))::bit(8)::int % 8 < 4`);
  await db.sql("analyze");
});

const failed = { kind: "ended", status: "FAILED" } as const;
const lists: readonly {
  readonly what: string;
  readonly walk: Walk;
  readonly conditions?: TaskConditions;
  readonly index: string;
  readonly mostRows: number;
}[] = [
  {
    what: "failed",
    walk: { ...failed, by: "status" },
    index: "finished_tasks_ended_idx",
    mostRows: 1_000,
  },
  {
    what: "failed of a name",
    walk: { ...failed, by: "name" },
    conditions: { name: "some-task" },
    index: "finished_tasks_name_idx",
    mostRows: 1_000,
  },
  {
    what: "failed of a queue",
    walk: { ...failed, by: "queue" },
    conditions: { queue: "default" },
    index: "finished_tasks_queue_idx",
    mostRows: 1_000,
  },
  {
    what: "failed with a code",
    walk: { ...failed, by: "code" },
    conditions: { errorCode: "BROKEN" },
    index: "finished_tasks_code_idx",
    mostRows: 1_000,
  },
  {
    what: "failed of another name, of an older library",
    walk: { ...failed, by: "unnamed" },
    conditions: { name: "another" },
    index: "finished_tasks_unnamed_idx",
    mostRows: WINDOW_ROWS,
  },
  {
    what: "failed since an hour",
    walk: { ...failed, by: "status" },
    conditions: { since: new Date() },
    index: "finished_tasks_ended_idx",
    mostRows: 10,
  },
  {
    what: "completed",
    walk: { kind: "completed" },
    index: "finished_tasks_id_idx",
    mostRows: 1_000,
  },
  {
    what: "completed of a name that there is not",
    walk: { kind: "completed" },
    conditions: { name: "another" },
    index: "finished_tasks_id_idx",
    mostRows: WINDOW_ROWS,
  },
  { what: "all", walk: { kind: "all" }, index: "submissions_pkey", mostRows: 1_500 },
  {
    what: "all of a worker without tasks",
    walk: { kind: "all" },
    conditions: { worker: "nobody" },
    index: "submissions_pkey",
    mostRows: 3 * WINDOW_ROWS,
  },
  { what: "pending", walk: { kind: "waiting" }, index: "ready_tasks_claim_idx", mostRows: 1_500 },
  {
    what: "pending of a name that there is not",
    walk: { kind: "waiting" },
    conditions: { name: "another" },
    index: "ready_tasks_claim_idx",
    mostRows: WINDOW_ROWS,
  },
  {
    what: "running of a worker",
    walk: { kind: "active", isStarted: true },
    conditions: { worker: workerId(1) },
    index: "active_tasks_id_idx",
    mostRows: 10_000,
  },
  {
    what: "the task of a key",
    walk: { kind: "keyed", status: undefined },
    conditions: { name: "some-task", key: "key-100" },
    index: "submissions_key_idx",
    mostRows: 20,
  },
];

describe.each(lists)(
  "a page of tasks: $what",
  ({ what, walk, conditions = {}, index, mostRows }) => {
    // PostgreSQL makes a plan of its own for each of the first five runs on a "reads" session, then may keep one for all.
    test.each([1, 7])("reads by index, on execution %i", async (runs) => {
      const connection = await db.connect("reads");
      const page = { after: null, limit: 100 };
      // The page, and the end of its window.
      for (const nth of [0, 1]) {
        const prepared = await prepare(
          connection,
          async (recorder) => {
            let asked = 0;
            await store.listTasks(
              {
                query: (statement, values) =>
                  asked++ === nth
                    ? recorder.query(statement, values)
                    : connection.query(statement, values),
              },
              walk,
              conditions,
              // A page that is not full asks for the end of its window, too.
              nth === 0 ? page : { ...page, limit: 1_000_000 - 1 },
            );
          },
          runs,
        );
        const plan = await explain(connection, prepared);

        figures(`list ${what}`, {
          ms: plan.executionMs,
          rows: plan.rowsRead,
          by: plan.indexes.join(" + "),
        });
        expect(
          plan.scannedTables.filter((table) => !["workers", "queues"].includes(table)),
        ).toEqual([]);
        expect(plan.indexes).toContain(index);
        expect(plan.rowsRead).toBeLessThanOrEqual(nth === 0 ? mostRows : 10_000);
        if (nth === 0) expect(plan.executionMs).toBeLessThan(1_000);
      }
    });

    test("is there within 100 ms, at the 95th percentile", async () => {
      const connection = await db.connect("reads");
      const took: number[] = [];
      for (let n = 0; n < 20; n++) {
        const begun = performance.now();
        await store.listTasks(connection, walk, conditions, { after: null, limit: 100 });
        took.push(performance.now() - begun);
      }
      took.sort((a, b) => a - b);
      figures(`list ${what}`, { p50: took[9] ?? 0, p95: took[18] ?? 0 });
      // Figures are reported; a limit that a busy machine keeps tells a scan of all rows from a window.
      expect(took[18]).toBeLessThan(1_000);
    });
  },
);

test("explaining a task among a million waiting ones reads 10,000 of its line", async () => {
  const connection = await db.connect("reads");
  for (const n of [millions.due - 5, millions.all]) {
    const prepared = await prepare(
      connection,
      (recorder) => store.explainTask.facts(recorder, taskId(n), 60_000),
      7,
    );
    const plan = await explain(connection, prepared);
    figures("explain", { ms: plan.executionMs, rows: plan.rowsRead });
    expect(plan.scannedTables).not.toContain("ready_tasks");
    expect(plan.scannedTables).not.toContain("submissions");
    expect(plan.scannedTables).not.toContain("finished_tasks");
    expect(plan.rowsRead).toBeLessThan(30_000);
  }
});

test("a retry finds its rows by index, inside its function too", async () => {
  const connection = await db.connect("reads");
  const { id: action } = await store.operatorActions.begin(connection, { action: "retry tasks" });
  const ids = [30_000, 30_100].map((n) => taskId(millions.finished - n));
  const scanned = await scannedBy(connection, SCHEMA, async (on) => {
    expect(await store.retryTasks(on, { ids, goodUntil: null, action })).toMatchObject([
      { answer: "retried" },
      { answer: "retried" },
    ]);
  });
  expect(scanned).toEqual([]);
});
