/** The hooks taskRecovery and taskInterrupted when a dead worker's tasks are recovered, and the effect of each answer. */
import { beforeEach, expect, test } from "vitest";
import type {
  TaskInterruptedEvent,
  TaskRecoveryAnswer,
  TaskRecoveryEvent,
} from "../../src/define/hooks.ts";
import { hookRunner } from "../../src/hooks/hook-runner.ts";
import { fixed } from "../../src/index.ts";
import { runPasses } from "../../src/recovery/passes.ts";
import { addActive, addOneActive, placesOf, type ActiveSeed } from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";
import { addWorker, config, useRecovery } from "./recovery-kit.ts";

const db = useDatabase();
useCleanTables(db);
const kit = useRecovery(db);

const on = { ...config.workerRecovery, enabled: true };
let deadId: string;

beforeEach(async () => {
  deadId = await addWorker(db, { state: "dead", missingMs: 2_000, silentMs: 3_000 });
});

async function taskOf(seed: ActiveSeed = {}): Promise<string> {
  return (await addOneActive(db, { workerId: deadId, ...seed })).id;
}

async function view(id: string) {
  const [task] = await db.sql("select * from posthaste.tasks where id = $1", [id]);
  return task;
}

/** Runs one round of the reaper with both hooks, and returns the events that they received. */
async function hooked(answer: TaskRecoveryAnswer, over: Parameters<typeof kit.reaper>[0] = {}) {
  const asked: TaskRecoveryEvent[] = [];
  const told: TaskInterruptedEvent[] = [];
  const hooks = hookRunner(
    {
      taskRecovery: (event) => {
        asked.push(event);
        return answer;
      },
      taskInterrupted: (event) => void told.push(event),
    },
    silentLogger,
  );
  const reaped = await runPasses(kit.reaper({ ...over, hooks }));
  return { asked, told, reaped };
}

test("taskRecovery receives each task with all its fields", async () => {
  const id = await taskOf({
    name: "n",
    queue: "q",
    priority: 5,
    input: { a: [1] },
    flags: { x: true },
    runs: 1,
    retryCount: 1,
  });
  const workerId = "00000000-0000-4000-8000-000000000001";
  const { asked } = await hooked({ action: "default" }, { workerId });
  expect(asked).toEqual([
    {
      task: {
        id,
        name: "n",
        queue: "q",
        priority: 5,
        status: "RUNNING",
        input: { a: [1] },
        flags: { x: true },
        claimId: expect.any(String) as unknown,
        attempt: 2,
        retryCount: 1,
        crashCount: 0,
      },
      recoveringWorkerId: workerId,
      previousWorkerId: deadId,
      reason: "WORKER_CRASHED",
    },
  ]);
});

test('the answer "default" applies the crash rule, and taskInterrupted receives the decision', async () => {
  const id = await taskOf();
  const { told } = await hooked({ action: "default" });
  expect(told).toMatchObject([{ task: { id }, decision: "fail", reason: "WORKER_CRASHED" }]);
});

test('the answer "reschedule" sets the due time and, if given, the retry count', async () => {
  const runAt = new Date(Date.now() + 3_600_000);
  const id = await taskOf({ retryCount: 1, runs: 1 });
  const { told } = await hooked({ action: "reschedule", runAt, attempts: 3 });
  const { ready } = await placesOf(db, id);
  expect(ready).toMatchObject({ retry_count: 3 });
  expect(Date.parse(String(ready?.["enqueued_at"]))).toBe(runAt.getTime());
  expect(told).toMatchObject([{ decision: "requeue" }]);
});

test('the answer "failWithBackoff" retries by the policy, also if the policy does not list WORKER_CRASHED', async () => {
  const retry = fixed({ intervalsMs: [60_000], retryFor: ["BUSY"], jitter: false });
  const id = await taskOf({ options: { retry } });
  await hooked({ action: "failWithBackoff" }, { workerRecovery: on });
  expect(await view(id)).toMatchObject({
    status: "PENDING",
    retry_count: 1,
    last_error: { code: "WORKER_CRASHED" },
  });
});

test('the answer "skip" keeps every pass from the task until its time, and taskInterrupted is not called', async () => {
  const id = await taskOf({ heldMs: 10_000 });
  const first = await hooked({ action: "skip", untilMs: 60_000 });
  expect(first.told).toEqual([]);
  expect(first.asked).toHaveLength(1);
  expect(first.reaped).toMatchObject({ crashed: 0, recovered: 0 });
  const second = await hooked({ action: "default" });
  expect(second.asked).toEqual([]);
  expect((await placesOf(db, id)).active).not.toBeNull();
  await db.sql("update posthaste.recoveries set due_at = now()");
  expect((await hooked({ action: "default" })).reaped).toMatchObject({ crashed: 1 });
});

test('the answer "skip" without a time lasts one more threshold', async () => {
  await taskOf();
  await hooked({ action: "skip" });
  const [row] = await db.sql<{ ms: number }>(
    "select date_part('epoch', due_at - recovered_at) * 1000 as ms from posthaste.recoveries",
  );
  expect(row?.ms).toBe(1_000);
});

test('the answer "default" leaves recovery at one statement a page', async () => {
  await addActive(
    db,
    Array.from({ length: 300 }, () => ({ workerId: deadId })),
  );
  const { told } = await hooked({ action: "default" });
  expect(told).toHaveLength(300);
  const [row] = await db.sql<{ moments: number }>(
    "select count(distinct finished_at)::int as moments from posthaste.finished_tasks",
  );
  expect(row?.moments).toBe(2);
});
