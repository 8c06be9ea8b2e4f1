/** What becomes of running tasks whose worker has been silent for too long: retried if their policy says so, else failed. */
import type { ResultCode } from "../domain/errors.ts";
import { storedRetryPolicy } from "../domain/retry.ts";
import type { TaskFailure } from "../domain/result.ts";
import { settle } from "../domain/task-lifecycle.ts";
import type { Recovery, RecoveredTask, StaleTask } from "../store/queries/recover-stale.ts";
import type { Database } from "./database.ts";
import { wakeQueues } from "./wake-workers.ts";

const BATCH = 500;

/** One pass, in bounded batches. */
export async function recoverStaleRunning(
  { store, reads }: Database,
  thresholdMs: number,
): Promise<RecoveredTask[]> {
  const recovered: RecoveredTask[] = [];
  for (;;) {
    const stale = await store.recoverStale.find(reads, thresholdMs, BATCH);
    if (stale.length === 0) break;
    const decided = stale.map((task) => decide(task, thresholdMs));
    const done = await store.recoverStale.recover(reads, thresholdMs, decided);
    recovered.push(...done);
    await store.awaitResults.notify(
      reads,
      done.map(({ id }) => id),
    );
    const back = done.map(({ queue, priority }) => ({ queue, priority, due: "back" as const }));
    await wakeQueues(reads, store, back);
    if (done.length === 0) break; // all of them were renewed, or are in somebody else's hands
  }
  return recovered;
}

function decide(task: StaleTask, thresholdMs: number): Recovery {
  const { id, claimId, retryCount } = task;
  const error = crashed(task, thresholdMs);
  const retry = storedRetryPolicy(task.options);
  const verdict = settle({ retry, retryCount }, { ok: false, error }, Math.random());
  const isRetried = verdict.edge === "retry";
  return {
    id,
    claimId,
    edge: isRetried ? "retry" : "fail",
    delayMs: isRetried ? verdict.delayMs : 0,
    error: JSON.stringify(error),
  };
}

function crashed(task: StaleTask, thresholdMs: number): TaskFailure<ResultCode> {
  const { workerId, hostname, pid, lastHeartbeatAt } = task;
  return {
    code: "WORKER_CRASHED",
    message: "Task recovered after worker interruption",
    data: {
      workerId,
      hostname,
      pid,
      lastHeartbeatAt: lastHeartbeatAt.toISOString(),
      thresholdMs,
      reason:
        "the worker has not vouched for the task for longer than recovery.runningStaleThresholdMs",
    },
  };
}
