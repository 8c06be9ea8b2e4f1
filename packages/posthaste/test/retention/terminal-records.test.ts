/** Tasks that ended long ago are deleted with everything that is stored of them, and nothing else is. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { addActive, addReady } from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { addEnded, addManyEnded, pruneOnce } from "./old-rows.ts";

const db = useDatabase();
useCleanTables(db);

const month = "720 hours";

async function kept(table = "submissions"): Promise<string[]> {
  const rows = await db.sql<{ id: string }>(
    `select distinct task_id as id from posthaste.${table} order by 1`,
  );
  return rows.map(({ id }) => id);
}

describe("pruneRecords", () => {
  test.each(["COMPLETED", "FAILED", "CANCELLED", "EXPIRED"] as const)(
    "deletes %s tasks older than 30 days, with attempts and progress",
    async (status) => {
      const [, young] = await addEnded(db, [
        { ago: `${month} 2 seconds`, status },
        { ago: `${month} -20 seconds`, status },
      ]);
      expect(await pruneOnce(db)).toEqual({
        heartbeats: 0,
        workerStates: 0,
        rollups: 0,
        terminalRecords: 1,
        unfinished: [],
      });
      for (const table of ["submissions", "finished_tasks", "attempts", "progress"])
        expect(await kept(table)).toEqual([young]);
    },
  );

  test("deletes the retries of a task with it, and leaves a retried task that waits alone, however old", async () => {
    const [waiting = "", ended = ""] = await addEnded(db, [
      { ago: "60 days", status: "FAILED" },
      { ago: "60 days", status: "FAILED" },
    ]);
    for (const id of [waiting, ended]) await db.sql("select posthaste.retry($1)", [id]);
    await db.sql("select posthaste.fail($1, 'AGAIN')", [ended]);
    await db.sql(
      "update posthaste.finished_tasks set finished_at = now() - interval '59 days' where task_id = $1",
      [ended],
    );

    expect(await pruneOnce(db)).toMatchObject({ terminalRecords: 1 });
    expect(await kept()).toEqual([waiting]);
    expect(await kept("task_retries")).toEqual([waiting]);
  });

  test("keeps records for the configured hours", async () => {
    await addEnded(db, [{ ago: "2 hours" }, { ago: "59 minutes" }]);
    expect(await pruneOnce(db, { terminalRecordRetentionHours: 3 })).toMatchObject({
      terminalRecords: 0,
    });
    expect(await pruneOnce(db, { terminalRecordRetentionHours: 1 })).toMatchObject({
      terminalRecords: 1,
    });
  });

  test("keeps FAILED, CANCELLED and EXPIRED tasks for hours of their own", async () => {
    const statuses = ["COMPLETED", "FAILED", "CANCELLED", "EXPIRED"] as const;
    const old = { terminalRecordRetentionHours: 1, failedRecordRetentionHours: 3 };
    const ids = await addEnded(
      db,
      statuses.map((status) => ({ ago: "2 hours", status })),
    );
    expect(await pruneOnce(db, old, { dryRun: true })).toMatchObject({ terminalRecords: 1 });
    expect(await pruneOnce(db, old)).toMatchObject({ terminalRecords: 1 });
    expect(await kept()).toEqual(ids.slice(1).toSorted());
    const reversed = { terminalRecordRetentionHours: null, failedRecordRetentionHours: 1 };
    await addEnded(db, [{ ago: "2 hours" }]);
    expect(await pruneOnce(db, reversed)).toMatchObject({ terminalRecords: 3 });
    expect(await kept()).toHaveLength(1);
  });

  test("keeps tasks for the hours of their definition, shorter or longer, also with ids of the caller", async () => {
    await db.sql(
      `insert into posthaste.task_definitions (name, queue, keep_hours) values ('old', 'default', 2)`,
    );
    const id = randomUUID();
    await addEnded(db, [{ ago: "3 hours" }, { ago: "1 hour" }, { ago: "3 hours", id }]);
    expect(await pruneOnce(db, {}, { dryRun: true })).toMatchObject({ terminalRecords: 2 });
    expect(await pruneOnce(db)).toMatchObject({ terminalRecords: 2 });
    expect(await kept()).toHaveLength(1);
    await db.sql(`update posthaste.task_definitions set keep_hours = 1000`);
    await addEnded(db, [{ ago: "31 days" }, { ago: "60 days", status: "FAILED" }]);
    expect(await pruneOnce(db)).toMatchObject({ terminalRecords: 1 });
    const forever = { terminalRecordRetentionHours: null };
    await addEnded(db, [{ ago: "60 days" }]);
    expect(await pruneOnce(db, forever)).toMatchObject({ terminalRecords: 1 });
    expect(await kept()).toHaveLength(2);
  });

  test("stores the hours of a definition when a worker starts", async () => {
    const tasks = [defineTask({ name: "brief", retentionHours: 5, run: () => null })];
    const worker = db.app({ tasks }).worker();
    await worker.start();
    expect(await db.sql(`select name, keep_hours from posthaste.task_definitions`)).toEqual([
      { name: "brief", keep_hours: 5 },
    ]);
    await worker.stop();
  });

  test("locks no task that it keeps", async () => {
    const [held] = await addEnded(db, [{ ago: "2 hours", status: "FAILED" }]);
    const hours = { terminalRecordRetentionHours: 1, failedRecordRetentionHours: 3 };
    await pruneOnce(db, hours);
    expect(
      await db.sql(
        `select sent.xmax::text as sent, ended.xmax::text as ended
           from posthaste.submissions as sent join posthaste.finished_tasks as ended using (task_id)
          where task_id = $1`,
        [held],
      ),
    ).toEqual([{ sent: "0", ended: "0" }]);
  });

  test("keeps records forever with null", async () => {
    await addEnded(db, [{ ago: "10 years" }]);
    expect(await pruneOnce(db, { terminalRecordRetentionHours: null })).toMatchObject({
      terminalRecords: 0,
    });
    expect(await kept()).toHaveLength(1);
  });

  test("leaves a category that is not requested", async () => {
    await addEnded(db, [{ ago: "10 years" }]);
    const categories = ["heartbeats", "workerStates"] as const;
    expect(await pruneOnce(db, {}, { categories })).toMatchObject({ terminalRecords: 0 });
    expect(await kept()).toHaveLength(1);
  });

  test("counts in a dry run as many as a real one deletes, and deletes nothing", async () => {
    await addEnded(db, [
      { ago: "60 days" },
      { ago: "60 days", workflowId: randomUUID() },
      { ago: "2 days" },
    ]);
    expect(await pruneOnce(db, {}, { dryRun: true })).toMatchObject({ terminalRecords: 1 });
    expect(await kept()).toHaveLength(3);
    expect(await pruneOnce(db)).toMatchObject({ terminalRecords: 1 });
  });

  test("keeps tasks that have not ended, however old", async () => {
    await addReady(db, [{ dueMs: -1e10 }]);
    await addActive(db, [{ heldMs: 1e10 }, { status: "CLAIMED", heldMs: 1e10 }]);
    expect(await pruneOnce(db, { terminalRecordRetentionHours: 1 })).toMatchObject({
      terminalRecords: 0,
    });
    expect(await kept()).toHaveLength(3);
  });

  describe("with tasks of a workflow", () => {
    test("keeps an old task while its workflow is kept", async () => {
      const [id] = await addEnded(db, [{ ago: "60 days", workflowId: randomUUID() }]);
      expect(await pruneOnce(db)).toMatchObject({ terminalRecords: 0 });
      expect(await kept("attempts")).toEqual([id]);
    });

    test("deletes later tasks, however many workflow tasks come first", async () => {
      const workflowId = randomUUID();
      await addEnded(db, [
        ...Array.from({ length: 1_500 }, () => ({ ago: "90 days", workflowId })),
        ...Array.from({ length: 1_500 }, () => ({ ago: "60 days" })),
      ]);
      expect(await pruneOnce(db)).toMatchObject({ terminalRecords: 1_500, unfinished: [] });
      expect(await kept()).toHaveLength(1_500);
    });
  });

  test("frees the key of a deleted task", async () => {
    const old = defineTask({ name: "old", run: () => null });
    const [id] = await addEnded(db, [{ ago: "60 days", key: "k" }]);
    const app = db.app();
    await expect(app.send(old, undefined, { key: "k" })).rejects.toThrow("another input");
    await pruneOnce(db);
    expect((await app.send(old, undefined, { key: "k" })).id).not.toBe(id);
  });

  test("limits a round, takes the earliest sent first, and reports that there is more", async () => {
    await addManyEnded(db, 50_500, {
      sent: "now() - interval '70 days' - n * interval '1 second'",
      ended: "now() - interval '60 days' - n * interval '1 second'",
    });
    expect(await pruneOnce(db)).toMatchObject({
      terminalRecords: 50_000,
      unfinished: ["terminalRecords"],
    });
    const [left] = await db.sql<{ rows: number; oldest: number }>(
      `select count(*)::int as rows,
            round(extract(epoch from max(now() - interval '60 days' - finished_at)))::int as oldest
       from posthaste.finished_tasks`,
    );
    expect(left?.rows).toBe(500);
    expect(left?.oldest).toBeLessThan(600);
    expect(await pruneOnce(db)).toMatchObject({ terminalRecords: 500, unfinished: [] });
  });

  describe("in concurrent sessions", () => {
    test("deletes each task once in two rounds, and neither waits for the other", async () => {
      await addEnded(
        db,
        Array.from({ length: 5_000 }, () => ({ ago: "60 days" })),
      );
      const rounds = await Promise.all([pruneOnce(db), pruneOnce(db), pruneOnce(db)]);
      const total = rounds.reduce((sum, { terminalRecords }) => sum + terminalRecords, 0);
      // One may find the rest in the other's hands, and leaves it to the next round.
      const { terminalRecords } = await pruneOnce(db);
      expect(total + terminalRecords).toBe(5_000);
      expect(await kept()).toEqual([]);
    });

    test.each(["submissions", "finished_tasks"])(
      "skips a task whose row of %s another session holds, without waiting",
      async (table) => {
        const [held] = await addEnded(db, [{ ago: "61 days" }, { ago: "60 days" }]);
        await db.sql("begin");
        try {
          await db.sql(`select from posthaste.${table} where task_id = $1 for update`, [held]);
          expect(await pruneOnce(db)).toMatchObject({ terminalRecords: 1 });
        } finally {
          await db.sql("rollback");
        }
        for (const each of ["submissions", "finished_tasks", "attempts", "progress"])
          expect(await kept(each)).toEqual([held]);
      },
    );

    test("delays no end while a round is uncommitted", async () => {
      await addEnded(db, [{ ago: "60 days" }]);
      const [claim] = await addActive(db, [{}]);
      if (claim === undefined) throw new Error("nothing was added");
      const pruner = await db.connect("reads");
      await pruner.script("begin" as never);
      await db.store.pruneRecords.tasks(pruner, { hours: [720, 720], most: 1_000, from: null });
      const finisher = await db.connect();
      const reply = await db.store.settleTasks(finisher, [
        { ...claim, edge: "succeed", ran: true },
      ]);
      expect(reply.settled).toBe(1);
      await pruner.script("rollback" as never);
    });
  });
});

test("firings of schedules are deleted after the retention of terminal records, and newer ones stay", async () => {
  await db.sql(
    `insert into posthaste.schedule_firings (schedule, slot, fired_at, skipped)
     select 'a', now() - hours * interval '1 hour', now() - hours * interval '1 hour', 'missed'
       from unnest(array[719, 721, 722]) as hours`,
  );
  expect(await pruneOnce(db, {}, { dryRun: true })).toMatchObject({ terminalRecords: 2 });
  expect(await pruneOnce(db)).toMatchObject({ terminalRecords: 2, unfinished: [] });
  expect(await db.sql("select from posthaste.schedule_firings")).toHaveLength(1);
});
