/** Retention after statistics were gathered when everything was deleted and nothing vacuumed: a table of no rows at all. */
import { expect, test } from "vitest";
import type { Db } from "../../src/store/sql.ts";
import { addManyEnded } from "../retention/old-rows.ts";
import { useDatabase } from "../support/database.ts";
import { explain, prepare } from "./explain.ts";

const db = useDatabase();
const { pruneRecords } = db.store;
const sent = "now() - interval '70 days' - n * interval '1 second'";
const old = { sent, ended: "now() - interval '60 days'" };
const own = { ...old, id: "overlay(gen_random_uuid()::text placing 'a' from 1)::uuid" };

test.each([
  ["ids that say when", old, (run: Db) => pruneRecords.tasks(run, 720, 1_000, null)],
  ["own ids", own, (run: Db) => pruneRecords.tasksOfOwnId(run, 720, 1_000, null)],
])("%s: a batch looks at what it deletes, and at little else", async (_, rows, call) => {
  await addManyEnded(db, 2_000, rows);
  await db.sql("delete from posthaste.finished_tasks; delete from posthaste.submissions");
  await db.sql("analyze posthaste.finished_tasks; analyze posthaste.submissions");
  await addManyEnded(db, 2_000, rows);
  const connection = await db.connect("reads");
  expect(await explain(connection, await prepare(connection, call))).toMatchObject({
    buffers: expect.toSatisfy((buffers: number) => buffers < 40_000),
  });
  for (const pruned of [1_000, 1_000, 0]) expect(await call(connection)).toMatchObject({ pruned });
});
