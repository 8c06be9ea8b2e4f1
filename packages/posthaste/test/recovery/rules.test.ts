/** The reaper's decisions about the tasks of lost workers, from the active row to the row that it writes. */
import { beforeEach, describe, expect, test } from "vitest";
import { hookRunner } from "../../src/hooks/hook-runner.ts";
import { defineTask, fixed } from "../../src/index.ts";
import { runPasses } from "../../src/recovery/passes.ts";
import {
  addActive,
  addOneActive,
  msFromNow,
  placesOf,
  type ActiveSeed,
} from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";
import { addWorker, config, useRecovery } from "./recovery-kit.ts";

const db = useDatabase();
useCleanTables(db);
const kit = useRecovery(db);

const on = { ...config.workerRecovery, enabled: true };
const crashes = fixed({ intervalsMs: [60_000], retryFor: ["WORKER_CRASHED"], jitter: false });
const MESSAGE = "Task recovered after worker interruption";
let deadId: string;

beforeEach(async () => {
  deadId = await addWorker(db, { state: "dead", missingMs: 2_000, silentMs: 3_000 });
});

async function taskOf(seed: ActiveSeed = {}): Promise<string> {
  return (await addOneActive(db, { workerId: deadId, ...seed })).id;
}

/** One round of the reaper. */
function round(over: Parameters<typeof kit.reaper>[0] = {}) {
  return runPasses(kit.reaper(over));
}

async function view(id: string) {
  const [task] = await db.sql("select * from posthaste.tasks where id = $1", [id]);
  return task;
}

describe("the reaper, after a worker crashed,", () => {
  test("applies the recovering worker's definition to a task that was sent without options", async () => {
    const id = await taskOf();
    const [row] = await db.sql<{ name: string }>(
      "select name from posthaste.submissions where task_id = $1",
      [id],
    );
    const task = defineTask({ name: row?.name ?? "", onCrash: "requeue", run: () => null });
    await round({ definitions: new Map([[task.name, task]]) });
    expect(await view(id)).toMatchObject({ status: "PENDING", attempt_no: 1, crash_count: 1 });
  });

  test("releases claimed tasks, fails running tasks, and records both recoveries", async () => {
    const [claimed, ran] = await addActive(db, [
      { workerId: deadId, status: "CLAIMED" },
      { workerId: deadId },
    ]);
    const options = kit.reaper();
    expect(await runPasses(options)).toMatchObject({ crashed: 2, released: 0, recovered: 0 });
    expect(await view(claimed?.id ?? "")).toMatchObject({ status: "PENDING", attempt_no: 0 });
    expect(await view(ran?.id ?? "")).toMatchObject({
      status: "FAILED",
      error_code: "WORKER_CRASHED",
      last_error: {
        message: MESSAGE,
        data: {
          workerId: deadId,
          hostname: "a-host",
          pid: 4711,
          thresholdMs: 1_000,
          lastHeartbeatAt: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
          detectedAt: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
          reason: expect.stringContaining("the worker's process is gone") as unknown,
        },
      },
    });
    expect(
      await db.sql(
        "select task_id, reason, decision, recovered_by, evidence from posthaste.recoveries order by decision",
      ),
    ).toMatchObject([
      {
        task_id: ran?.id,
        reason: "worker crashed",
        decision: "fail",
        recovered_by: options.workerId,
        evidence: { pid: 4711 },
      },
      { task_id: claimed?.id, decision: "release" },
    ]);
  });

  test("requeues a running task after the delay with worker recovery, spends no retry, and stores the error", async () => {
    const id = await taskOf({ retryCount: 1, runs: 1 });
    await round({ workerRecovery: on });
    const { ready, attempts } = await placesOf(db, id);
    expect(ready).toMatchObject({ retry_count: 1, attempt_no: 2, crash_count: 1 });
    expect(msFromNow(ready?.["enqueued_at"])).toBeGreaterThan(28_000);
    expect(attempts[1]).toMatchObject({ outcome: "WORKER_FAILURE", error: { message: MESSAGE } });
    expect(await view(id)).toMatchObject({ last_error: { message: MESSAGE } });
  });

  test('requeues a task with onCrash "requeue" at once without worker recovery', async () => {
    const id = await taskOf({ options: { onCrash: "requeue" } });
    await round();
    expect((await placesOf(db, id)).ready).toMatchObject({ crash_count: 1, retry_count: null });
    expect(msFromNow((await placesOf(db, id)).ready?.["enqueued_at"])).toBeLessThan(0);
  });

  test('honours onCrash "policy" and "fail" although worker recovery is enabled', async () => {
    const [retried, failed] = await addActive(db, [
      { workerId: deadId, options: { onCrash: "policy", retry: crashes } },
      { workerId: deadId, options: { onCrash: "fail", retry: crashes } },
    ]);
    await round({ workerRecovery: on });
    expect(await view(retried?.id ?? "")).toMatchObject({ status: "PENDING", retry_count: 1 });
    expect(await view(failed?.id ?? "")).toMatchObject({ status: "FAILED" });
  });

  test("fails a task that reaches maxCrashes, whatever its rule, and stores the reason", async () => {
    const id = await taskOf({
      options: { onCrash: "requeue", maxCrashes: 2 },
      crashCount: 1,
      runs: 1,
    });
    await round({ workerRecovery: on });
    expect(await view(id)).toMatchObject({
      status: "FAILED",
      crash_count: 2,
      last_error: {
        data: {
          reason: expect.stringContaining("crash 2 in a row, and maxCrashes is 2") as unknown,
        },
      },
    });
  });

  test("ends a task with a requested cancellation CANCELLED, and does not call taskRecovery", async () => {
    let asked = 0;
    const taskRecovery = () => {
      asked++;
      return { action: "default" } as const;
    };
    const id = await taskOf({ isCancelRequested: true });
    await round({ workerRecovery: on, hooks: hookRunner({ taskRecovery }, silentLogger) });
    expect(await view(id)).toMatchObject({ status: "CANCELLED", error_code: "TASK_CANCELLED" });
    expect(asked).toBe(0);
  });

  test("keeps the key of a task: send() finds the task before and after the recovery", async () => {
    const note = defineTask({ name: "keyed", run: (text: string) => text });
    const id = await taskOf({ name: "keyed", key: "k", input: "x" });
    const app = db.app({ tasks: [note] });
    expect((await app.send(note, "x", { key: "k" })).id).toBe(id);
    await round({ workerRecovery: on });
    expect((await app.send(note, "x", { key: "k" })).id).toBe(id);
    expect(await db.sql("select from posthaste.submissions")).toHaveLength(1);
  });
});

describe("the reaper, for tasks without a recent heartbeat,", () => {
  test("stores a blocked event loop as the reason if the worker's process lives", async () => {
    const workerId = await addWorker(db, { loopBlockedMs: 4_000 });
    const { id } = await addOneActive(db, { workerId, heldMs: 10_000, beatMs: 3_000 });
    expect(await round()).toMatchObject({ crashed: 0, recovered: 1 });
    expect(await view(id)).toMatchObject({
      last_error: {
        message: MESSAGE,
        data: {
          reason:
            "the worker's process lives, but its event loop has been blocked for 4000 ms: event loop blocked",
        },
      },
    });
  });

  test("recovers a task whose definition it does not have", async () => {
    const { id } = await addOneActive(db, {
      name: "nobody-knows-it",
      heldMs: 10_000,
      options: [1],
    });
    await round();
    expect(await view(id)).toMatchObject({ status: "FAILED", error_code: "WORKER_CRASHED" });
  });

  test("skips a pass that is switched off, and still releases expired leases", async () => {
    await addActive(db, [
      { heldMs: 10_000 },
      { status: "CLAIMED", heldMs: 10_000 },
      { status: "CLAIMED", leaseMs: -1 },
    ]);
    const { recovery } = kit.reaper();
    const off = { ...recovery, autoFailStaleRunning: false, autoRequeueStaleClaimed: false };
    expect(await round({ recovery: off })).toMatchObject({ recovered: 0, released: 1 });
    const runs = { ...recovery, autoRequeueStaleClaimed: false };
    expect(await round({ recovery: runs })).toMatchObject({ recovered: 1, released: 0 });
    expect(await round()).toMatchObject({ recovered: 0, released: 1 });
  });
});
