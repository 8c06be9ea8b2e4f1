import { describe, expect, test } from "vitest";
import { sql, statement } from "../../src/store/sql.ts";
import { BEGIN } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { addActive, addOneReady, addReady, placesOf } from "./task-rows.ts";

const db = useDatabase();

describe("expireTasks", () => {
  test("ends pending tasks past their deadline EXPIRED, due or not, and leaves the others", async () => {
    const [due = "", notDue = "", good = "", endless = ""] = await addReady(db, [
      { goodMs: -1, dueMs: -5_000, runs: 2, retryCount: 2 },
      { goodMs: -1, dueMs: 60_000 },
      { goodMs: 60_000 },
      {},
    ]);

    const expired = await db.store.expireTasks(await db.connect("reads"), 100);

    expect(expired.sort()).toEqual([due, notDue].sort());
    const { finished } = await placesOf(db, due);
    expect(finished).toMatchObject({
      status: "EXPIRED",
      attempt_no: 2,
      retry_count: 2,
      claim_id: null,
      started_at: null,
      error_code: "TASK_EXPIRED",
      error: { code: "TASK_EXPIRED" },
    });
    for (const id of [good, endless]) expect((await placesOf(db, id)).ready).not.toBeNull();
  });

  test("does not expire a claimed or running task", async () => {
    const claims = await addActive(db, [
      { goodMs: -1, status: "CLAIMED" },
      { goodMs: -1, status: "RUNNING" },
    ]);

    expect(await db.store.expireTasks(await db.connect("reads"), 100)).toEqual([]);

    for (const { id } of claims) expect((await placesOf(db, id)).active).not.toBeNull();
  });

  test("ends no more than its limit in a pass, the oldest deadlines first", async () => {
    const [last = "", first = "", middle = ""] = await addReady(db, [
      { goodMs: -1_000 },
      { goodMs: -3_000 },
      { goodMs: -2_000 },
    ]);
    const connection = await db.connect("reads");

    expect((await db.store.expireTasks(connection, 2)).sort()).toEqual([first, middle].sort());
    expect(await db.store.expireTasks(connection, 2)).toEqual([last]);
    expect(await db.store.expireTasks(connection, 2)).toEqual([]);
  });

  test("skips a task that a claimer holds, without waiting", async () => {
    const held = await addOneReady(db, { goodMs: -1 });
    const free = await addOneReady(db, { goodMs: -1 });
    const holder = await db.connect("reads");
    await holder.query(BEGIN);
    await holder.query(
      statement(sql`select from posthaste.ready_tasks where task_id = $1 for update`),
      [held],
    );

    expect(await db.store.expireTasks(await db.connect("reads"), 100)).toEqual([free]);
  });
});
