/** Heartbeats; and states of workers, workers that are gone, and recoveries. */
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { addActive } from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { addHeartbeats, pruneOnce } from "./old-rows.ts";

const db = useDatabase();
useCleanTables(db);

describe("pruneRecords", () => {
  describe("heartbeats", () => {
    const left = async () => {
      const rows = await db.sql<{ ago: string }>(
        "select hostname as ago from posthaste.heartbeats order by sent_at",
      );
      return rows.map(({ ago }) => ago);
    };

    test("are deleted after a day", async () => {
      await addHeartbeats(db, [
        "25 hours",
        "24 hours 2 seconds",
        "24 hours -20 seconds",
        "1 second",
      ]);
      expect(await pruneOnce(db)).toMatchObject({ heartbeats: 2, unfinished: [] });
      expect(await left()).toEqual(["24 hours -20 seconds", "1 second"]);
    });

    test("are kept forever with null, and counted by a dry run", async () => {
      await addHeartbeats(db, ["25 hours", "26 hours"]);
      expect(await pruneOnce(db, { heartbeatRetentionHours: null })).toMatchObject({
        heartbeats: 0,
      });
      expect(await pruneOnce(db, {}, { dryRun: true })).toMatchObject({ heartbeats: 2 });
      expect(await left()).toHaveLength(2);
      expect(await pruneOnce(db, { heartbeatRetentionHours: 25 })).toMatchObject({ heartbeats: 2 });
    });

    test("are deleted in batches until none is left", async () => {
      await addHeartbeats(
        db,
        Array.from({ length: 2_500 }, () => "30 hours"),
      );
      expect(await pruneOnce(db)).toMatchObject({ heartbeats: 2_500, unfinished: [] });
    });
  });

  const week = "168 hours";
  const [old, young] = [`${week} 2 seconds`, `${week} -20 seconds`];

  describe("worker states", () => {
    beforeEach(async () => {
      await db.sql(
        `insert into posthaste.worker_states
         (worker_id, taken_at, hostname, pid, state, concurrency, tasks_running, tasks_claimed, cpu_percent, rss_bytes,
          heap_bytes, loop_lag_ms, config)
       select gen_random_uuid(), statement_timestamp() - ago::interval, ago, 1, 'running', 1, 0, 0, 0, 0, 0, 0, '{}'
         from unnest($1::text[]) as ago`,
        [[old, young]],
      );
    });

    test("are deleted after a week", async () => {
      expect(await pruneOnce(db)).toMatchObject({ workerStates: 1 });
      expect(await db.sql("select hostname from posthaste.worker_states")).toEqual([
        { hostname: young },
      ]);
    });

    test("are kept forever with null, and counted by a dry run", async () => {
      expect(await pruneOnce(db, { workerStateRetentionHours: null })).toMatchObject({
        workerStates: 0,
      });
      expect(await pruneOnce(db, {}, { dryRun: true })).toMatchObject({ workerStates: 1 });
      expect(await db.sql("select from posthaste.worker_states")).toHaveLength(2);
    });
  });

  describe("worker row", () => {
    const addWorker = async (state: string, beatAgo: string, diedAgo: string | null = null) => {
      const id = randomUUID();
      await db.sql(
        `insert into posthaste.workers
         (worker_id, name, hostname, pid, version, queues, task_names, concurrency, state, started_at, last_heartbeat_at,
          died_at)
       values ($1, 'w', 'h', 1, '1', '{}', '{}', 1, $2, now() - interval '1 year',
               statement_timestamp() - $3::interval, statement_timestamp() - $4::interval)`,
        [id, state, beatAgo, diedAgo],
      );
      return id;
    };
    const left = async () => {
      const rows = await db.sql<{ id: string }>("select worker_id as id from posthaste.workers");
      return rows.map(({ id }) => id).sort((a, b) => a.localeCompare(b));
    };

    test("is deleted a week after its last heartbeat or its death", async () => {
      for (const state of ["stopped", "running", "stopping"]) await addWorker(state, old);
      await addWorker("dead", "60 days", old);
      const stays = [
        await addWorker("stopped", young),
        await addWorker("running", young),
        await addWorker("stopping", young),
        await addWorker("dead", "60 days", young),
      ];
      expect(await pruneOnce(db, {}, { dryRun: true })).toMatchObject({ workerStates: 4 });
      expect(await pruneOnce(db)).toMatchObject({ workerStates: 4 });
      expect(await left()).toEqual(stays.sort((a, b) => a.localeCompare(b)));
    });

    test.each([
      ["dead", "60 days"],
      ["running", null],
    ])("is kept while it owns a task (%s)", async (state, diedAgo) => {
      const workerId = await addWorker(state, "60 days", diedAgo);
      await addActive(db, [{ workerId }]);
      expect(await pruneOnce(db, {}, { dryRun: true })).toMatchObject({ workerStates: 0 });
      expect(await pruneOnce(db)).toMatchObject({ workerStates: 0 });
      expect(await left()).toEqual([workerId]);
    });
  });

  describe("recovery record", () => {
    const addRecovery = (decision: string, ago: string, dueIn: string | null) =>
      db.sql(
        `insert into posthaste.recoveries
         (task_id, claim_id, worker_id, recovered_at, due_at, attempt_no, status, reason, decision, recovered_by, evidence)
       values (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), statement_timestamp() - $2::interval,
               statement_timestamp() + $3::interval, 1, 'RUNNING', 'run stale', $1, 'admin', '{}')`,
        [decision, ago, dueIn],
      );

    test("is deleted after a week, unless it still hides its task", async () => {
      await addRecovery("fail", old, null);
      await addRecovery("skip", old, "-1 second");
      await addRecovery("requeue", old, "1 day");
      await addRecovery("skip", old, "1 day");
      await addRecovery("retry", young, null);
      expect(await pruneOnce(db, {}, { dryRun: true })).toMatchObject({ workerStates: 3 });
      expect(await pruneOnce(db)).toMatchObject({ workerStates: 3 });
      expect(await db.sql("select decision from posthaste.recoveries order by decision")).toEqual([
        { decision: "retry" },
        { decision: "skip" },
      ]);
    });
  });
});
