/** Retention after statistics were gathered when everything was deleted and nothing vacuumed: a table of no rows at all. */
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { PrunedBatch } from "../../src/store/queries/retention/prune-records.ts";
import type { Db } from "../../src/store/sql.ts";
import { addManyEnded } from "../retention/old-rows.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";
import { explain, prepare } from "./explain.ts";

const db = useDatabase();
const { pruneRecords } = db.store;

beforeAll(async () => {
  for (const table of ["finished_tasks", "submissions"])
    await db.sql(`alter table posthaste.${table} set (autovacuum_enabled = off)`);
});

const analyze = () => db.sql("analyze posthaste.finished_tasks; analyze posthaste.submissions");
// For the checks that follow every test.
afterEach(analyze);

describe("pruneRecords", () => {
  test("reads the rows it deletes and little else", async () => {
    await addManyEnded(db, 10_000, { sent: "now()", ended: "now()" });
    await db.sql("delete from posthaste.finished_tasks; delete from posthaste.submissions");
    await analyze();
    await addManyEnded(db, 10_000, {
      sent: "now() - interval '70 days' + n * interval '1 second'",
      ended: "now() - interval '60 days' + n * interval '1 second'",
    });
    const connection = await db.connect("reads");
    let from: string | null = null;
    // Sooner or later a session takes a plan for any values, which may be another one.
    for (let batch = 0; batch < 10; batch++) {
      const start: string | null = from;
      const call = (run: Db): Promise<PrunedBatch> =>
        pruneRecords.tasks(run, { hours: [720, 720], most: 1_000, from: start });
      const { buffers } = await explain(connection, await prepare(connection, call));
      figures("1,000 tasks", { buffers });
      expect(buffers).toBeLessThan(20_000);
      const done: PrunedBatch = await call(connection);
      expect(done.pruned).toBe(1_000);
      from = done.reached;
    }
  });
});
