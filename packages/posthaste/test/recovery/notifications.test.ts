/** Recovery notifies idle workers, waiting clients and hooks at once; none of them waits for a poll. */
import { expect, test } from "vitest";
import { hookRunner } from "../../src/hooks/hook-runner.ts";
import {
  defineTask,
  fixed,
  type FailedEvent,
  type RetriedEvent,
  type TaskEvent,
} from "../../src/index.ts";
import { runPasses } from "../../src/recovery/passes.ts";
import { addOneActive } from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";
import { silentLogger } from "../support/loggers.ts";
import { SOON_MS } from "../support/soon.ts";
import { addWorker, config, useRecovery } from "./recovery-kit.ts";

const db = useDatabase();
useCleanTables(db);
const kit = useRecovery(db);

// Without a notification, the next poll is a minute away.
const resilience = { notifyPollIntervalMs: 60_000 };

async function deadWorker(): Promise<string> {
  return addWorker(db, { state: "dead", missingMs: 2_000 });
}

test.each([
  ["at its old place", 0, false],
  ["after a delay", 700, true],
])(
  "recovery wakes an idle worker for a task that returns to its queue %s",
  async (_, recoveryDelayMs, enabled) => {
    const begun = gate();
    const task = defineTask({ name: "again", run: () => begun.open() });
    const app = db.app({ tasks: [task], resilience });
    await app.worker().start();
    const workerId = await deadWorker();
    await addOneActive(db, { workerId, name: "again", options: { onCrash: "requeue" } });
    const recoveredAt = performance.now();
    await runPasses(
      kit.reaper({ workerRecovery: { ...config.workerRecovery, enabled, recoveryDelayMs } }),
    );
    await begun.opened;
    const tookMs = performance.now() - recoveredAt;
    expect(tookMs).toBeGreaterThanOrEqual(recoveryDelayMs);
    expect(tookMs).toBeLessThan(recoveryDelayMs + SOON_MS);
  },
);

test("recovery notifies a client that waits for the result of a task that it fails", async () => {
  const task = defineTask({ name: "gone", run: () => null });
  const app = db.app({ tasks: [task], resilience });
  const { id } = await addOneActive(db, { workerId: await deadWorker(), name: "gone" });
  const waiting = app.task(task, id).result({ timeoutMs: 30_000 });
  await expect.poll(async () => (await db.sql("select from posthaste.waiters")).length).toBe(1);
  const recoveredAt = performance.now();
  await runPasses(kit.reaper());
  expect(await waiting).toMatchObject({ ok: false, error: { code: "WORKER_CRASHED" } });
  expect(performance.now() - recoveredAt).toBeLessThan(SOON_MS);
});

test("recovery calls taskFailed, taskRetried and taskCancelled", async () => {
  const failed: FailedEvent[] = [];
  const retried: RetriedEvent[] = [];
  const cancelled: TaskEvent[] = [];
  const hooks = hookRunner(
    {
      taskFailed: (event) => void failed.push(event),
      taskRetried: (event) => void retried.push(event),
      taskCancelled: (event) => void cancelled.push(event),
    },
    silentLogger,
  );
  const workerId = await deadWorker();
  const retry = fixed({ intervalsMs: [60_000], retryFor: ["WORKER_CRASHED"], jitter: false });
  const ended = await addOneActive(db, { workerId, heldMs: 2_000 });
  const again = await addOneActive(db, { workerId, options: { retry } });
  const unwanted = await addOneActive(db, { workerId, isCancelRequested: true });
  await addOneActive(db, { workerId, options: { onCrash: "requeue" } });
  await runPasses(kit.reaper({ hooks }));
  const run = { name: "some-task", queue: "default", attempt: 1, workerId };
  const error = { code: "WORKER_CRASHED" };
  expect(failed).toMatchObject([{ ...run, id: ended.id, error }]);
  expect(failed[0]?.durationMs).toBeGreaterThan(1_900);
  expect(retried).toMatchObject([{ ...run, id: again.id, error, delayMs: 60_000 }]);
  expect(cancelled).toEqual([{ id: unwanted.id, name: "some-task", queue: "default" }]);
});
