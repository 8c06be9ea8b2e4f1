/** A worker that shuts down interrupts its running tasks and recovers them itself. */
import { expect, test } from "vitest";
import {
  defineTask,
  fixed,
  type AppConfig,
  type TaskInterruptedEvent,
  type TaskRecoveryAnswer,
  type TaskRecoveryEvent,
} from "../../src/index.ts";
import type { CrashRule } from "../../src/domain/crash-policy.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";

const db = useDatabase();
useCleanTables(db);

const retry = fixed({ intervalsMs: [60_000], retryFor: ["WORKER_CRASHED"] });

/** One task, interrupted by the shutdown of its worker in its first attempt. */
async function interrupted(how: {
  readonly heeds: boolean;
  readonly onCrash?: CrashRule;
  readonly hooks?: NonNullable<AppConfig["hooks"]>;
}) {
  const begun = gate();
  const late = gate();
  const task = defineTask({
    name: "interrupted",
    retry,
    ...(how.onCrash === undefined ? {} : { onCrash: how.onCrash }),
    run: async (_: null, { signal, attempt }) => {
      if (attempt > 1) return attempt;
      begun.open();
      if (!how.heeds) await late.opened;
      await new Promise((_resolve, reject) => {
        if (signal.aborted) return reject(new Error("told to stop"));
        return signal.addEventListener("abort", () => reject(new Error("told to stop")));
      });
      return attempt;
    },
  });
  const app = db.app({ tasks: [task], ...(how.hooks === undefined ? {} : { hooks: how.hooks }) });
  const worker = await app.worker({ shutdownGraceMs: 0 }).start();
  const handle = await app.send(task);
  await begun.opened;
  const before = await handle.info();
  const stoppedAt = performance.now();
  await worker.stop();
  const tookMs = performance.now() - stoppedAt;
  late.open();
  return { app, task, handle, before, after: await handle.info(), workerId: worker.id, tookMs };
}

const shutdown = {
  reason: "shutdown",
  status: "RUNNING",
  evidence: { reason: "the worker was stopped before the task had ended" },
};

test.each([true, false])(
  "a stopping worker requeues a task without onCrash at its old place, and records the recovery (heeds its signal: %s)",
  async (heeds) => {
    const { app, handle, before, after, workerId } = await interrupted({ heeds });
    expect(after).toMatchObject({
      status: "PENDING",
      retryCount: 0,
      enqueuedAt: before.enqueuedAt,
      attempts: [
        {
          outcome: "INTERRUPTED",
          error: {
            message: "Task recovered after worker interruption",
            ...(heeds ? { cause: { message: "told to stop" } } : {}),
          },
        },
      ],
    });
    expect(await app.admin.recoveries.list()).toMatchObject([
      { ...shutdown, taskId: handle.id, workerId, recoveredBy: workerId, decision: "requeue" },
    ]);
    const [row] = await db.sql("select crash_count from posthaste.ready_tasks");
    expect(row).toEqual({ crash_count: null });
    await app.worker().start();
    expect(await handle.value({ timeoutMs: 30_000 })).toBe(2);
  },
);

test("a stopping worker does not wait a second for a handler that heeds its signal", async () => {
  // The worker waits one second for a handler that ignores its signal. A busy machine may take as long, but not every time.
  let quickest = Infinity;
  for (let tries = 0; tries < 20 && quickest >= 900; tries++) {
    quickest = Math.min(quickest, (await interrupted({ heeds: true })).tookMs);
  }
  expect(quickest).toBeLessThan(900);
});

test.each<[CrashRule, boolean, object]>([
  ["requeue", true, { status: "PENDING", retryCount: 0 }],
  ["requeue", false, { status: "PENDING", retryCount: 0 }],
  ["policy", true, { status: "PENDING", retryCount: 1 }],
  ["policy", false, { status: "PENDING", retryCount: 1 }],
  ["fail", true, { status: "FAILED", errorCode: "WORKER_CRASHED" }],
  ["fail", false, { status: "FAILED", errorCode: "WORKER_CRASHED" }],
])(
  'a stopping worker honours onCrash "%s" (heeds its signal: %s)',
  async (onCrash, heeds, expected) => {
    expect((await interrupted({ heeds, onCrash })).after).toMatchObject(expected);
  },
);

async function hooked(answer: TaskRecoveryAnswer, heeds = false) {
  const asked: TaskRecoveryEvent[] = [];
  const told: TaskInterruptedEvent[] = [];
  const hooks = {
    taskRecovery: async (event: TaskRecoveryEvent) => {
      asked.push(event);
      return answer;
    },
    taskInterrupted: (event: TaskInterruptedEvent) => void told.push(event),
  };
  return { ...(await interrupted({ heeds, hooks })), asked, told };
}

test.each([true, false])(
  "a stopping worker calls taskRecovery and taskInterrupted (heeds its signal: %s)",
  async (heeds) => {
    const { handle, workerId, asked, told } = await hooked({ action: "default" }, heeds);
    const event = {
      task: { id: handle.id, status: "RUNNING", attempt: 1 },
      recoveringWorkerId: workerId,
      previousWorkerId: workerId,
      reason: "SHUTDOWN_ABORTED",
    };
    expect(asked).toMatchObject([event]);
    expect(told).toMatchObject([{ ...event, decision: "requeue" }]);
  },
);

test('the answer "reschedule" requeues the task with its new time and retry count', async () => {
  const runAt = new Date(Date.now() + 3_600_000);
  const { after } = await hooked({ action: "reschedule", runAt, attempts: 1 });
  expect(after).toMatchObject({ status: "PENDING", retryCount: 1, enqueuedAt: runAt });
});

test('the answer "failWithBackoff" retries the task, and "skip" leaves it RUNNING', async () => {
  expect((await hooked({ action: "failWithBackoff" })).after).toMatchObject({
    status: "PENDING",
    retryCount: 1,
  });
  const { app, handle, after, told } = await hooked({ action: "skip", untilMs: 60_000 });
  expect(after).toMatchObject({ status: "RUNNING" });
  expect(told).toEqual([]);
  expect(await app.admin.recoveries.list({ taskId: handle.id })).toMatchObject([
    { ...shutdown, decision: "skip", dueAt: expect.any(Date) },
  ]);
});

test("a stopping worker ends a task with a requested cancellation CANCELLED", async () => {
  const begun = gate();
  const late = gate();
  const task = defineTask({
    name: "stubborn",
    run: async () => {
      begun.open();
      await late.opened;
      return null;
    },
  });
  const app = db.app({ tasks: [task] });
  const worker = await app.worker({ shutdownGraceMs: 60_000 }).start();
  const handle = await app.send(task);
  await begun.opened;
  await handle.cancel();
  const stopping = worker.stop();
  worker.hurry();
  await stopping;
  late.open();
  expect(await handle.info()).toMatchObject({ status: "CANCELLED" });
});
