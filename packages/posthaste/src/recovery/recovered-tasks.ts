/** The types of recovery: the recoverer, a found task, its decision, and the values for hooks and operators. */
import type { Database } from "../database/database.ts";
import type { InterruptedTask, TaskRecoveryEvent } from "../define/hooks.ts";
import type { CrashDecision, CrashDefinition, CrashSettings } from "../domain/crash-policy.ts";
import type { HeldStatus, InterruptionEvidence, RecoveryCause } from "../domain/interruption.ts";
import type { Json } from "../domain/json.ts";
import type { Logger } from "../domain/logger.ts";
import { isRecord } from "../domain/option-reader.ts";
import type { HookRunner } from "../hooks/hook-runner.ts";
import type { FoundTask, TaskRecovery } from "../store/queries/recover/recover-tasks.ts";

/** `recoveredBy` of an operator. */
export const BY_ADMIN = "admin";

export interface Recoverer {
  readonly database: Database;
  readonly settings: CrashSettings;
  /** The worker that does it, or "admin". */
  readonly recoveredBy: string;
  readonly hooks: HookRunner;
  readonly log: Logger;
  /** The definitions of this process by name, for tasks that were sent without options. */
  readonly definitions?: ReadonlyMap<string, CrashDefinition>;
  /** Aborted: no further page is begun. */
  readonly signal?: AbortSignal;
}

/** A task that was taken from its worker, or left to it on purpose; in a dry run, one that would be. */
export interface RecoveredTask {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  /** Its status before. */
  readonly status: HeldStatus;
  /** Handlers that have begun so far. */
  readonly attempt: number;
  /** The worker that had claimed it. */
  readonly workerId: string;
  readonly reason: RecoveryCause;
  readonly decision: CrashDecision["decision"];
  readonly evidence: InterruptionEvidence;
}

/** A task and its decision. */
export interface DecidedTask {
  readonly found: FoundTask;
  readonly cause: RecoveryCause;
  readonly recovery: TaskRecovery;
}

export function recoveryEvent(
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
  const { id, name, queue, priority, status, claimId, attemptNo, retryCount, crashCount } = found;
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
    attempt: attemptNo,
    retryCount,
    crashCount,
  };
}

export function recoveredTask(
  { found, cause, recovery }: DecidedTask,
  decision: CrashDecision["decision"],
): RecoveredTask {
  const { id, name, queue, status, attemptNo, workerId } = found;
  const { evidence } = recovery;
  return {
    id,
    name,
    queue,
    status,
    attempt: attemptNo,
    workerId,
    reason: cause,
    decision,
    evidence,
  };
}
