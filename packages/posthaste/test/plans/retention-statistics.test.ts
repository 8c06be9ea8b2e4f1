/** Retention after statistics were gathered when everything was deleted and nothing vacuumed: a table of no rows at all. */
import { afterEach, beforeAll, expect, test } from "vitest";
import type { Db } from "../../src/store/sql.ts";
import { addManyEnded } from "../retention/old-rows.ts";
import { useDatabase } from "../support/database.ts";
import { explain, prepare } from "./explain.ts";

const db = useDatabase();
const { pruneRecords } = db.store;
const ROWS = 10_000;
const sent = "now() - interval '70 days' - n * interval '1 second'";
const old = { sent, ended: "now() - interval '60 days'" };
const own = { ...old, id: "overlay(gen_random_uuid()::text placing 'a' from 1)::uuid" };

beforeAll(async () => {
  for (const table of ["finished_tasks", "submissions"])
    await db.sql(`alter table posthaste.${table} set (autovacuum_enabled = off)`);
});

const analyze = () => db.sql("analyze posthaste.finished_tasks; analyze posthaste.submissions");
// For the checks that follow every test.
afterEach(analyze);

test.each([
  ["ids that say when", old, (run: Db) => pruneRecords.tasks(run, 720, 1_000, null)],
  ["own ids", own, (run: Db) => pruneRecords.tasksOfOwnId(run, 720, 1_000, null)],
])("%s: a batch looks at what it deletes, and at little else", async (_, rows, call) => {
  await addManyEnded(db, ROWS, rows);
  await db.sql("delete from posthaste.finished_tasks; delete from posthaste.submissions");
  await analyze();
  await addManyEnded(db, ROWS, rows);
  const connection = await db.connect("reads");
  // Sooner or later a session takes a plan for any values, which may be another one.
  for (let batch = 0; batch < ROWS / 1_000; batch++) {
    const { buffers } = await explain(connection, await prepare(connection, call));

    expect.soft(buffers).toBeLessThan(15_000);
    expect(await call(connection)).toMatchObject({ pruned: 1_000 });
  }
});
