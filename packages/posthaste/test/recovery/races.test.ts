/** Recovery races with heartbeats, finishing workers and other recoveries; the tests hold the locks by hand. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { recoverTasks } from "../../src/recovery/recover-tasks.ts";
import { sweepWorkers } from "../../src/recovery/sweep-workers.ts";
import { runPasses } from "../../src/recovery/passes.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { createStore } from "../../src/store/store.ts";
import { BEGIN, COMMIT, ROLLBACK } from "../../src/store/transaction.ts";
import { recovery, recoverySteps } from "../store/recovery-steps.ts";
import { addActive, addOneActive, placesOf } from "../store/task-rows.ts";
import { sendHeartbeat } from "../store/send-heartbeat.ts";
import { untilWaiting } from "../locks/until-waiting.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";
import { addWorker, config, criteria, useRecovery } from "./recovery-kit.ts";

const db = useDatabase();
useCleanTables(db);
const kit = useRecovery(db);
const { apply } = recoverySteps(db);

const stale = criteria("run stale");
const sweeping = { ...config.workerRecovery, enabled: true, sweepThresholdMs: 1_000 };
const BEAT = statement(
  sql`update posthaste.workers set last_heartbeat_at = clock_timestamp() where worker_id = $1`,
);

test("recovery skips a row that a finish has locked, without waiting", async () => {
  const finisher = await db.connect();
  const claim = await addOneActive(db, { heldMs: 10_000 });
  await finisher.query(BEGIN);
  await db.store.settleTasks(finisher, [{ ...claim, edge: "succeed", ran: true, result: "1" }]);
  expect(await recoverTasks(kit.recoverer(), stale)).toEqual([]);
  await finisher.query(COMMIT);
  expect((await placesOf(db, claim.id)).finished).toMatchObject({ status: "COMPLETED" });
});

test("a finish waits for a recovery that has locked the row, and settles nothing", async () => {
  const [taker, finisher] = [await db.connect("reads"), await db.connect()];
  const claim = await addOneActive(db, { heldMs: 10_000 });
  await taker.query(BEGIN);
  await db.store.recoverTasks.apply(taker, stale, [recovery(claim, { decision: "fail" })], "me");
  const finish = db.store.settleTasks(finisher, [{ ...claim, edge: "succeed", ran: true }]);
  await untilWaiting(db, 1);
  await taker.query(COMMIT);
  expect(await finish).toEqual({ settled: 0, overridden: [] });
  expect((await placesOf(db, claim.id)).finished).toMatchObject({ error_code: "WORKER_CRASHED" });
});

test("a recovery that is rolled back leaves the task to its worker", async () => {
  const taker = await db.connect("reads");
  const claim = await addOneActive(db, { heldMs: 10_000 });
  await taker.query(BEGIN);
  await db.store.recoverTasks.apply(taker, stale, [recovery(claim, { decision: "fail" })], "me");
  await taker.query(ROLLBACK);
  expect((await placesOf(db, claim.id)).active).not.toBeNull();
  expect(await db.sql("select from posthaste.recoveries")).toEqual([]);
});

test("recovery leaves a task whose heartbeat is being written or was just written", async () => {
  const heart = await db.connect();
  const claim = await addOneActive(db, { heldMs: 10_000 });
  await heart.query(BEGIN);
  await sendHeartbeat(db.store, heart, [claim]);
  const decided = recovery(claim, { decision: "fail" });
  expect(await apply(stale, decided)).toEqual([]);
  await heart.query(COMMIT);
  expect(await apply(stale, decided)).toEqual([]);
});

test("the sweep leaves a worker whose heartbeat is being written or was just written", async () => {
  const heart = await db.connect("reads");
  const workerId = await addWorker(db, { silentMs: 10_000 });
  const claim = await addOneActive(db, { workerId, heldMs: 10_000 });
  const silent = criteria("worker silent");
  const decided = recovery(claim, { decision: "requeue", due: { delayMs: 0 } });
  await heart.query(BEGIN);
  await heart.query(BEAT, [workerId]);
  expect(await apply(silent, decided)).toEqual([]);
  expect(await sweepWorkers(kit.recoverer(), sweeping)).toMatchObject({ recoveredCount: 0 });
  await heart.query(COMMIT);
  expect(await apply(silent, decided)).toEqual([]);
  const [row] = await db.sql("select state from posthaste.workers");
  expect(row).toEqual({ state: "running" });
});

test("two concurrent reapers move each of 2,000 stale rows once, without a deadlock", async () => {
  await addActive(
    db,
    Array.from({ length: 2_000 }, (_, n) => ({
      heldMs: 10_000,
      status: n % 2 === 0 ? ("RUNNING" as const) : ("CLAIMED" as const),
    })),
  );
  const begun = performance.now();
  const reaped = await Promise.all(
    [0, 1].map(async () => {
      // Each reaper has a session of its own, as in two processes.
      const other = kit.reaper({ database: kit.newDatabase() });
      return runPasses(other);
    }),
  );
  const took = performance.now() - begun;
  const [moved] = await db.sql<{ rows: number; tasks: number }>(
    "select count(*)::int as rows, count(distinct task_id)::int as tasks from posthaste.recoveries",
  );
  figures("two reapers on 2,000 stale rows", { tookMs: Math.round(took), ...moved });
  expect(moved).toEqual({ rows: 2_000, tasks: 2_000 });
  expect(reaped.reduce((sum, { released, recovered }) => sum + released + recovered, 0)).toBe(
    2_000,
  );
  expect(await db.sql("select from posthaste.active_tasks")).toEqual([]);
  expect(await db.sql("select from posthaste.finished_tasks")).toHaveLength(1_000);
});

test("concurrent sweeps recover each task once, count one crash and spend no retry", async () => {
  const workerId = await addWorker(db, { silentMs: 10_000 });
  const claims = await addActive(
    db,
    Array.from({ length: 50 }, () => ({ workerId, runs: 2, retryCount: 1 })),
  );
  const sweeps = await Promise.all(
    Array.from({ length: 5 }, () =>
      sweepWorkers(kit.recoverer({ database: kit.newDatabase(), settings: sweeping }), sweeping),
    ),
  );
  const total = sweeps.reduce((sum, { recoveredCount }) => sum + recoveredCount, 0);
  expect(total).toBe(50);
  expect(await db.sql("select from posthaste.recoveries")).toHaveLength(claims.length);
  const [counts] = await db.sql(
    "select min(retry_count) as least, max(retry_count) as most, max(crash_count) as crashes from posthaste.ready_tasks",
  );
  expect(counts).toEqual({ least: 1, most: 1, crashes: 1 });
});

test("a sweep does nothing while another session sweeps the same schema, and ignores a sweep of another schema", async () => {
  const holder = await db.connect("reads");
  const workerId = await addWorker(db, { silentMs: 10_000 });
  await addOneActive(db, { workerId });
  await holder.query(BEGIN);
  expect(await db.store.sweepWorkers.tryLock(holder)).toBe(true);
  const sweep = () => sweepWorkers(kit.recoverer({ settings: sweeping }), sweeping);
  expect(await sweep()).toEqual({ workerIds: [], recoveredCount: 0, tasks: [] });
  await holder.query(ROLLBACK);
  await holder.query(BEGIN);
  expect(await createStore("elsewhere").sweepWorkers.tryLock(holder)).toBe(true);
  expect(await sweep()).toMatchObject({ workerIds: [workerId], recoveredCount: 1 });
  await holder.query(ROLLBACK);
});

test("the earlier worker of a recovered task can neither settle its next attempt nor send a heartbeat for it", async () => {
  const first = await addOneActive(db, { heldMs: 10_000, options: { onCrash: "requeue" } });
  await recoverTasks(kit.recoverer(), stale);
  const worker = await db.connect();
  await db.sql("update posthaste.ready_tasks set enqueued_at = now() - interval '1 s'");
  const request = {
    lanes: [{ queue: "default", priority: 100, mark: -Infinity }],
    limit: 1,
    workerId: randomUUID(),
    leaseMs: 60_000,
  };
  const { tasks } = await db.store.claimAndStart(worker, request);
  expect(tasks).toMatchObject([{ id: first.id, attemptNo: 2 }]);
  const late = await db.store.settleTasks(worker, [{ ...first, edge: "succeed", ran: true }]);
  expect(late.settled).toBe(0);
  expect(await sendHeartbeat(db.store, worker, [first])).toEqual(new Set());
  expect((await placesOf(db, first.id)).active).toMatchObject({ heartbeat_at: null });
});
