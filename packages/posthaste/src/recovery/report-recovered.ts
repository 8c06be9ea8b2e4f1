/** After the commit of a recovery: notifies workers and waiters, logs, and calls hooks. */
import type { Database } from "../database/database.ts";
import type { CrashDecision } from "../domain/crash-policy.ts";
import { notifyQueuesNow, type QueueHint } from "../sending/wake-workers.ts";
import type { AppliedRecovery } from "../store/queries/recover/recover-tasks.ts";
import type { RunNotifications } from "../store/queries/workflow/advance-workflows.ts";
import { sendNotifications } from "../workflows/move-nodes.ts";
import type { AppliedPage } from "./apply-recovery.ts";
import {
  recoveredTask,
  recoveryEvent,
  type DecidedTask,
  type RecoveredTask,
  type Recoverer,
} from "./recovered-tasks.ts";

/** Reports only the tasks that were moved. */
export async function reportRecovered(
  recoverer: Recoverer,
  page: readonly DecidedTask[],
  { applied, notifications }: AppliedPage,
): Promise<RecoveredTask[]> {
  const { database, log } = recoverer;
  const decided = new Map(page.map((task) => [task.found.id, task]));
  await notifyWorkersAndWaiters(database, applied, notifications).catch((error: unknown) =>
    // The moves are committed: workers and waiters without a notification poll.
    log.debug(
      { error: String(error) },
      "could not notify workers and callers of recovered tasks; they poll",
    ),
  );
  return applied.flatMap((one) => {
    const task = decided.get(one.id);
    if (task === undefined) return [];
    logRecovery(recoverer, task, one.decision);
    callHooks(recoverer, task, one);
    return [recoveredTask(task, one.decision)];
  });
}

async function notifyWorkersAndWaiters(
  { store, reads }: Database,
  applied: readonly AppliedRecovery[],
  notifications: RunNotifications,
): Promise<void> {
  const back: QueueHint[] = [];
  const ended: string[] = [];
  for (const { id, queue, priority, decision, dueMs } of applied) {
    if (decision === "skip") continue;
    if (dueMs === null) ended.push(id);
    else back.push({ queue, priority, due: dueMs <= 0 ? "back" : dueMs });
  }
  if (back.length > 0) await notifyQueuesNow(reads, store, back);
  if (ended.length > 0) await store.awaitResults.notify(reads, ended);
  await sendNotifications(reads, store, notifications);
}

function logRecovery(
  { log }: Recoverer,
  { found, cause, recovery }: DecidedTask,
  decision: CrashDecision["decision"],
): void {
  const { id: task, name, queue, attemptNo: attempt, workerId: worker, ranMs } = found;
  const facts = { task, name, queue, attempt, worker, reason: cause, decision };
  const durationMs = Math.round(ranMs);
  if (decision === "fail") {
    const { code, message: error } = recovery.error;
    log.error({ ...facts, code, error, durationMs }, "task failed; its worker was interrupted");
  } else if (decision === "skip")
    log.info(facts, "task left to its worker; a taskRecovery hook decided so");
  else
    log[cause === "shutdown" ? "info" : "warn"](
      { ...facts, durationMs },
      decision === "cancel"
        ? "task recovered from its worker; it is cancelled"
        : "task recovered from its worker; it returns to the queue",
    );
}

/** That it was interrupted; and, as of every other end, how it ended. */
function callHooks(
  recoverer: Recoverer,
  { found, cause, recovery }: DecidedTask,
  { decision, dueMs }: AppliedRecovery,
): void {
  if (decision === "skip") return;
  const { emit } = recoverer.hooks;
  const { id, name, queue, attemptNo: attempt, workerId, ranMs: durationMs } = found;
  const { error } = recovery;
  emit.taskInterrupted?.({ ...recoveryEvent(recoverer, cause, found), decision });
  const run = { id, name, queue, attempt, workerId, durationMs };
  if (decision === "fail") emit.taskFailed?.({ ...run, error });
  if (decision === "retry") emit.taskRetried?.({ ...run, error, delayMs: Math.max(0, dueMs ?? 0) });
  if (decision === "cancel") emit.taskCancelled?.({ id, name, queue });
}
