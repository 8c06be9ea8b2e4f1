/** After tasks were taken from a worker, and that is committed: workers are woken, waiters and hooks told. */
import type { CrashDecision } from "../domain/crash-policy.ts";
import type { AppliedRecovery } from "../store/queries/recover-tasks.ts";
import type { RunNews } from "../store/queries/advance-workflows.ts";
import type { AppliedPage } from "./apply-recovery.ts";
import type { Database } from "./database.ts";
import { tellNews } from "./move-nodes.ts";
import {
  recoveredTask,
  recoveryEvent,
  type DecidedTask,
  type RecoveredTask,
  type Recoverer,
} from "./recovered-tasks.ts";
import { wakeQueues, type Landed } from "./wake-workers.ts";

/** Of what was decided, only of what really moved. */
export async function announceRecovered(
  recoverer: Recoverer,
  page: readonly DecidedTask[],
  { applied, news }: AppliedPage,
): Promise<RecoveredTask[]> {
  const { database, log } = recoverer;
  const decided = new Map(page.map((task) => [task.found.id, task]));
  await tellTheDatabase(database, applied, news).catch((error: unknown) =>
    // The moves are committed: who is not told finds out by polling.
    log.debug({ error: String(error) }, "workers and waiters were not told of recovered tasks"),
  );
  return applied.flatMap((one) => {
    const task = decided.get(one.id);
    if (task === undefined) return [];
    logRecovery(recoverer, task, one.decision);
    tellHooks(recoverer, task, one);
    return [recoveredTask(task, one.decision)];
  });
}

async function tellTheDatabase(
  { store, reads }: Database,
  applied: readonly AppliedRecovery[],
  news: RunNews,
): Promise<void> {
  const back: Landed[] = [];
  const ended: string[] = [];
  for (const { id, queue, priority, decision, dueMs } of applied) {
    if (decision === "skip") continue;
    if (dueMs === null) ended.push(id);
    else back.push({ queue, priority, due: dueMs <= 0 ? "back" : dueMs });
  }
  if (back.length > 0) await wakeQueues(reads, store, back);
  if (ended.length > 0) await store.awaitResults.notify(reads, ended);
  await tellNews(reads, store, news);
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
    log.error({ ...facts, code, error, durationMs }, "task failed; it was taken from its worker");
  } else if (decision === "skip") log.info(facts, "task left to its worker, as a hook wants");
  else
    log[cause === "shutdown" ? "info" : "warn"](
      { ...facts, durationMs },
      "task taken from its worker; it runs again",
    );
}

/** That it was interrupted; and, as of every other end, how it ended. */
function tellHooks(
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
