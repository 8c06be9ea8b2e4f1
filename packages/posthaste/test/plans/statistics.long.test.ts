/** Statistics among two million tasks: depths by two ranges of an index for each lane, ends by the index on time. */
import { beforeAll, describe, expect, test } from "vitest";
import { migrate } from "../../src/store/migrate.ts";
import { createStore } from "../../src/store/store.ts";
import { useDatabase } from "../support/database.ts";
import { explain, prepare } from "./explain.ts";
import { fillSchema, millions } from "./million-rows.ts";

const SCHEMA = "filled";
const db = useDatabase({ isEmpty: true });
const store = createStore(SCHEMA);
const MOST = 1_000;

beforeAll(async () => {
  await migrate(await db.connect("reads"), SCHEMA);
  await fillSchema(db, SCHEMA, millions);
  await db.sql(`
    insert into ${SCHEMA}.rollups (starts_at, covers, name, queue, completed, run)
    select date_trunc('hour', now()) - n * interval '1 hour', 'hour', 'task-' || name, 'q', 1, '{1,2}'
      from generate_series(0, 5000) as n, generate_series(1, 10) as name`);
  await db.sql("analyze");
});

describe.each([1, 7])("on execution %i", (runs) => {
  test("depths read no ended task, and of a lane only as many rows as are counted", async () => {
    const connection = await db.connect("reads");
    const prepared = await prepare(connection, (on) => store.readStatistics.depths(on, MOST), runs);
    const plan = await explain(connection, prepared);
    expect(plan.indexes).toContain("ready_tasks_claim_idx");
    expect(plan.indexes.filter((name) => name.startsWith("finished_tasks"))).toEqual([]);
    // Two lanes, and 2,000 tasks under way with their submissions.
    expect(plan.rowsRead).toBeLessThan(2 * 2 * MOST + 2 * 2_000 + 3_000);
  });

  test("ends read the rollups of the span only", async () => {
    const connection = await db.connect("reads");
    const prepared = await prepare(
      connection,
      (on) => store.readStatistics.ends(on, 86_400_000),
      runs,
    );
    const plan = await explain(connection, prepared);
    expect(plan.indexes).toEqual(["rollups_time_idx"]);
    expect(plan.rowsRead).toBeLessThan(600);
  });
});
