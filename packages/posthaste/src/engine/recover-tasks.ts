/**
 * Takes tasks from workers that crashed, fell silent or shut down: finds them, asks the hook, decides, moves them in one
 * statement a page, and tells those whom it concerns. Every caller does it this way, with a hook and without.
 */
import type { InterruptedTask, TaskRecoveryEvent } from "../define/hooks.ts";
import {
  decideCrash,
  storedCrashOptions,
  type CrashDecision,
  type CrashSettings,
  type TaskRecoveryAnswer,
} from "../domain/crash-policy.ts";
import {
  interruptionError,
  interruptionEvidence,
  type HeldStatus,
  type InterruptionEvidence,
  type RecoveryCause,
} from "../domain/interruption.ts";
import type { Json } from "../domain/json.ts";
import type { Logger } from "../domain/logger.ts";
import { isRecord } from "../domain/option-reader.ts";
import type { TaskFailure } from "../domain/result.ts";
import type { AppliedRecovery, FoundTask, TaskRecovery } from "../store/queries/recover-tasks.ts";
import type { RecoveryCriteria } from "../store/queries/recovery-causes.ts";
import type { Database } from "./database.ts";
import type { HookRunner } from "./hooks.ts";
import { wakeQueues, type Landed } from "./wake-workers.ts";

export interface Recoverer {
  readonly database: Database;
  readonly settings: CrashSettings;
  /** The worker that does it, or "admin". */
  readonly recoveredBy: string;
  readonly hooks: HookRunner;
  readonly log: Logger;
  /** Aborted: no further page is begun. */
  readonly signal?: AbortSignal;
}

/** A task that was taken from its worker, or left to it on purpose; in a dry run, one that would be. */
export interface RecoveredTask {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  /** What it was. */
  readonly status: HeldStatus;
  /** Bodies that have begun so far. */
  readonly attempt: number;
  /** Who held it. */
  readonly workerId: string;
  readonly reason: RecoveryCause;
  readonly decision: CrashDecision["decision"];
  readonly evidence: InterruptionEvidence;
}

/** A task, and what is to become of it. */
export interface DecidedTask {
  readonly found: FoundTask;
  readonly cause: RecoveryCause;
  readonly recovery: TaskRecovery;
}

export const FIRST_PAGE = "00000000-0000-0000-0000-000000000000";
export const PAGE = 200;
/** Pages of one pass: what is left is the next one's. */
const MOST_PAGES = 50;
/** No statement of ours takes so long on a server that answers. */
const PATIENCE_MS = 2_000;

/** One pass. Pages come in id order, so what is left where it is does not come again. */
export async function recoverTasks(
  recoverer: Recoverer,
  criteria: RecoveryCriteria,
): Promise<RecoveredTask[]> {
  const { database, recoveredBy } = recoverer;
  const { store, reads } = database;
  const recovered: RecoveredTask[] = [];
  for await (const page of decidedPages(recoverer, criteria)) {
    const applied = await store.recoverTasks.apply(
      reads,
      criteria,
      page.map(({ recovery }) => recovery),
      recoveredBy,
    );
    recovered.push(...(await tellOf(recoverer, page, applied)));
  }
  return recovered;
}

/** What a pass would do, by rule: no hook is asked, and nothing is changed. */
export async function planRecovery(
  recoverer: Recoverer,
  criteria: RecoveryCriteria,
): Promise<RecoveredTask[]> {
  const planned: RecoveredTask[] = [];
  const silent = { ...recoverer, hooks: { ...recoverer.hooks, askRecovery: undefined } };
  for await (const page of decidedPages(silent, criteria)) {
    planned.push(...page.map((task) => recoveredTask(task, task.recovery.decision.decision)));
  }
  return planned;
}

export async function* decidedPages(
  recoverer: Recoverer,
  criteria: RecoveryCriteria,
): AsyncGenerator<DecidedTask[], void> {
  const { store, reads } = recoverer.database;
  let afterId = FIRST_PAGE;
  for (let page = 0; page < MOST_PAGES && recoverer.signal?.aborted !== true; page++) {
    const askedAt = performance.now();
    const found = await store.recoverTasks.find(reads, criteria, { limit: PAGE, afterId });
    if (isDoubtful(criteria, performance.now() - askedAt)) {
      recoverer.log.warn(
        { reason: criteria.cause },
        "the database was slow to say who is silent: while it does not answer nobody can be heard, so nothing is recovered this time",
      );
      return;
    }
    const last = found.at(-1);
    if (last === undefined) return;
    yield await Promise.all(found.map((task) => decide(recoverer, criteria.cause, task)));
    if (found.length < PAGE) return;
    afterId = last.id;
  }
}

/** An answer that took half a threshold may speak of a moment in which those who vouch could not be heard either. */
function isDoubtful(criteria: RecoveryCriteria, tookMs: number): boolean {
  if (!("thresholdMs" in criteria) || criteria.cause === "worker crashed") return false;
  return tookMs > Math.max(PATIENCE_MS, criteria.thresholdMs / 2);
}

async function decide(
  recoverer: Recoverer,
  cause: RecoveryCause,
  found: FoundTask,
): Promise<DecidedTask> {
  const { settings } = recoverer;
  const { id, claimId, thresholdMs } = found;
  const facts = { ...found, ...storedCrashOptions(found.options) };
  const answer = await askHook(recoverer, cause, found);
  const circumstances = { cause, settings, answer, thresholdMs };
  const decision = decideCrash(facts, circumstances, Math.random());
  const remark = decision.decision === "fail" ? decision.remark : undefined;
  const evidence = interruptionEvidence({ ...found, cause }, remark);
  const error: TaskFailure = interruptionError(evidence);
  return { found, cause, recovery: { id, claimId, decision, evidence, error } };
}

/** A cancellation that was promised is nobody's to decide. */
async function askHook(
  recoverer: Recoverer,
  cause: RecoveryCause,
  found: FoundTask,
): Promise<TaskRecoveryAnswer> {
  const { askRecovery } = recoverer.hooks;
  if (askRecovery === undefined || found.isCancelRequested) return { action: "default" };
  return askRecovery(recoveryEvent(recoverer, cause, found));
}

function recoveryEvent(
  { recoveredBy }: Recoverer,
  cause: RecoveryCause,
  found: FoundTask,
): TaskRecoveryEvent {
  return {
    task: interruptedTask(found),
    recoveringWorkerId: recoveredBy,
    previousWorkerId: found.workerId,
    reason: cause === "shutdown" ? "SHUTDOWN_ABORTED" : "WORKER_CRASHED",
  };
}

function interruptedTask(found: FoundTask): InterruptedTask {
  const { id, name, queue, priority, status, claimId, runNo, retryCount, crashCount } = found;
  const flags: unknown = found.flags === null ? {} : JSON.parse(found.flags);
  return {
    id,
    name,
    queue,
    priority,
    status,
    input: JSON.parse(found.input) as Json,
    flags: isRecord(flags) ? (flags as Record<string, boolean>) : {},
    claimId,
    attempt: runNo,
    retryCount,
    crashCount,
  };
}

/** After the commit: wakes workers, tells waiters and hooks, of what really moved. */
export async function tellOf(
  recoverer: Recoverer,
  page: readonly DecidedTask[],
  applied: readonly AppliedRecovery[],
): Promise<RecoveredTask[]> {
  const { database, log, hooks } = recoverer;
  const decided = new Map(page.map((task) => [task.found.id, task]));
  await tellTheDatabase(database, applied).catch((error: unknown) =>
    // The moves are committed: who is not told finds out by polling.
    log.debug({ error: String(error) }, "workers and waiters were not told of recovered tasks"),
  );
  return applied.flatMap(({ id, decision }) => {
    const task = decided.get(id);
    if (task === undefined) return [];
    const { found, cause } = task;
    log[cause === "shutdown" ? "info" : "warn"](
      { taskId: id, task: found.name, worker: found.workerId, reason: cause, decision },
      decision === "skip"
        ? "a task is left to its worker, as a hook wants"
        : "a task was taken from its worker",
    );
    if (decision !== "skip")
      hooks.emit.taskInterrupted?.({ ...recoveryEvent(recoverer, cause, found), decision });
    return [recoveredTask(task, decision)];
  });
}

async function tellTheDatabase(
  { store, reads }: Database,
  applied: readonly AppliedRecovery[],
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
}

function recoveredTask(
  { found, cause, recovery }: DecidedTask,
  decision: CrashDecision["decision"],
): RecoveredTask {
  const { id, name, queue, status, runNo, workerId } = found;
  const { evidence } = recovery;
  return { id, name, queue, status, attempt: runNo, workerId, reason: cause, decision, evidence };
}
