/** The sweep recovers the tasks of silent workers and of unknown workers. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { TaskRecoveryAnswer, WorkerRecoveredEvent } from "../../src/define/hooks.ts";
import { hookRunner } from "../../src/hooks/hook-runner.ts";
import { sweepWorkers } from "../../src/recovery/sweep-workers.ts";
import { startMaintenance } from "../../src/recovery/maintenance.ts";
import { runPasses } from "../../src/recovery/passes.ts";
import { addActive, addOneActive, msFromNow, placesOf } from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger, silentLogger } from "../support/loggers.ts";
import { addWorker, config, useRecovery } from "./recovery-kit.ts";

const db = useDatabase();
useCleanTables(db);
const kit = useRecovery(db);

const settings = { ...config.workerRecovery, enabled: true, sweepThresholdMs: 500 };

function sweep(answer?: TaskRecoveryAnswer, told: WorkerRecoveredEvent[] = []) {
  const hooks = hookRunner(
    {
      workerRecovered: (event) => void told.push(event),
      ...(answer === undefined ? {} : { taskRecovery: () => answer }),
    },
    silentLogger,
  );
  return sweepWorkers(kit.recoverer({ settings, hooks }), settings);
}

async function statesOf(): Promise<Record<string, string>> {
  const rows = await db.sql<{ worker_id: string; state: string }>(
    "select worker_id, state from posthaste.workers",
  );
  return Object.fromEntries(rows.map(({ worker_id, state }) => [worker_id, state]));
}

test("the sweep requeues the tasks of a silent worker after the delay, spends no retry, and marks the worker dead", async () => {
  const workerId = await addWorker(db, { silentMs: 2_000 });
  const [ran, claimed] = await addActive(db, [
    { workerId, runs: 2, retryCount: 1 },
    { workerId, status: "CLAIMED" },
  ]);
  const told: WorkerRecoveredEvent[] = [];
  const swept = await sweep(undefined, told);
  expect(swept).toMatchObject({ workerIds: [workerId], recoveredCount: 2 });
  expect(new Map(swept.tasks.map(({ id, decision }) => [id, decision]))).toEqual(
    new Map([
      [ran?.id, "requeue"],
      [claimed?.id, "release"],
    ]),
  );
  const { ready, attempts } = await placesOf(db, ran?.id ?? "");
  expect(ready).toMatchObject({ retry_count: 1, attempt_no: 3, crash_count: 1 });
  expect(msFromNow(ready?.["enqueued_at"])).toBeGreaterThan(28_000);
  expect(attempts[2]).toMatchObject({
    outcome: "WORKER_FAILURE",
    error: { message: "Task recovered after worker interruption" },
  });
  expect((await placesOf(db, claimed?.id ?? "")).ready).toMatchObject({ crash_count: null });
  expect(told).toEqual([{ workerIds: [workerId], recoveredCount: 2 }]);
  const [row] = await db.sql("select state, died_at is not null as died from posthaste.workers");
  expect(row).toEqual({ state: "dead", died: true });
  expect(await sweep(undefined, told)).toEqual({ workerIds: [], recoveredCount: 0, tasks: [] });
  expect(told).toHaveLength(1);
});

test("the sweep leaves healthy, stopped and dead workers as they are", async () => {
  const well = await addWorker(db, { silentMs: 100 });
  const stopped = await addWorker(db, { state: "stopped", silentMs: 60_000 });
  const dead = await addWorker(db, { state: "dead", silentMs: 60_000, missingMs: 0 });
  await addActive(db, [{ workerId: well, heldMs: 60_000 }]);
  expect(await sweep()).toMatchObject({ workerIds: [], recoveredCount: 0 });
  expect(await statesOf()).toEqual({ [well]: "running", [stopped]: "stopped", [dead]: "dead" });
});

test("the sweep marks a silent worker without tasks dead", async () => {
  const workerId = await addWorker(db, { state: "stopping", silentMs: 2_000 });
  expect(await sweep()).toEqual({ workerIds: [workerId], recoveredCount: 0, tasks: [] });
  expect(await statesOf()).toEqual({ [workerId]: "dead" });
});

test("the sweep recovers the tasks of an unknown worker that have no recent heartbeat", async () => {
  const unknown = randomUUID();
  const [orphan, vouched] = await addActive(db, [
    { workerId: unknown, heldMs: 2_000 },
    { workerId: unknown, heldMs: 2_000, beatMs: 100 },
  ]);
  const swept = await sweep();
  expect(swept).toMatchObject({ workerIds: [unknown], recoveredCount: 1 });
  expect(swept.tasks).toMatchObject([{ id: orphan?.id, reason: "worker unknown" }]);
  expect((await placesOf(db, vouched?.id ?? "")).active).not.toBeNull();
});

test("the sweep gives a resilient task more time, and marks its worker dead only after that", async () => {
  const workerId = await addWorker(db, { silentMs: 1_000 });
  const flags = { infrastructure_resilient: true };
  const [plain, resilient] = await addActive(db, [{ workerId }, { workerId, flags }]);
  expect((await sweep()).tasks).toMatchObject([{ id: plain?.id }]);
  expect(await statesOf()).toEqual({ [workerId]: "running" });
  await db.sql("update posthaste.workers set last_heartbeat_at = now() - interval '1.6 s'");
  expect((await sweep()).tasks).toMatchObject([{ id: resilient?.id }]);
  expect(await statesOf()).toEqual({ [workerId]: "dead" });
});

test("the sweep lists a worker whose tasks are all skipped once, and recovers them when the skip ends", async () => {
  const workerId = await addWorker(db, { silentMs: 2_000 });
  const { id } = await addOneActive(db, { workerId });
  const skip: TaskRecoveryAnswer = { action: "skip", untilMs: 60_000 };
  expect(await sweep(skip)).toMatchObject({ workerIds: [workerId], recoveredCount: 0 });
  expect(await sweep(skip)).toEqual({ workerIds: [], recoveredCount: 0, tasks: [] });
  expect(await statesOf()).toEqual({ [workerId]: "running" });
  expect(await db.sql("select from posthaste.recoveries")).toHaveLength(1);
  await db.sql("update posthaste.recoveries set due_at = now()");
  expect((await sweep()).tasks).toMatchObject([{ id, decision: "requeue" }]);
  expect(await statesOf()).toEqual({ [workerId]: "dead" });
});

test("the reaper recovers a task that a worker claimed while it was swept", async () => {
  const workerId = await addWorker(db, { silentMs: 2_000 });
  await sweep();
  const { id } = await addOneActive(db, { workerId });
  await db.sql("update posthaste.workers set died_at = now() - interval '2 s'");
  expect(await runPasses(kit.reaper())).toMatchObject({ crashed: 1 });
  expect((await placesOf(db, id)).active).toBeNull();
});

test("the sweep recovers 1,100 tasks page by page", async () => {
  const workerId = await addWorker(db, { silentMs: 2_000 });
  await addActive(
    db,
    Array.from({ length: 1_100 }, () => ({ workerId })),
  );
  expect((await sweep()).recoveredCount).toBe(1_100);
  expect(await statesOf()).toEqual({ [workerId]: "dead" });
});

test("the maintenance of a worker sweeps by itself only if worker recovery is enabled", async () => {
  const silent = await addWorker(db, { silentMs: 60_000 });
  const { id } = await addOneActive(db, { workerId: silent });
  const log = recordingLogger();
  const workerRecovery = { ...settings, sweepIntervalMs: 100 };
  const unknownTaskGraceMs = 300_000;
  const idle = startMaintenance({
    ...kit.reaper({ workerRecovery: { ...workerRecovery, enabled: false } }),
    unknownTaskGraceMs,
  });
  const sweeping = startMaintenance({ ...kit.reaper({ workerRecovery, log }), unknownTaskGraceMs });
  try {
    await expect.poll(statesOf).toEqual({ [silent]: "dead" });
    expect((await placesOf(db, id)).active).toBeNull();
  } finally {
    await Promise.all([idle.stop(), sweeping.stop()]);
  }
  expect(log.lines.filter(({ level }) => level === "warn")).toMatchObject([
    { fields: { task: id, reason: "worker silent", decision: "requeue" } },
  ]);
});
