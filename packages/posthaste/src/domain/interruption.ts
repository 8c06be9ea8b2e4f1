/** Why a task is taken from its worker, and what is said about it: in its error, and in the row that is kept of it. */
import type { ResultCode } from "./errors.ts";
import type { TaskFailure } from "./result.ts";

/** What a task is that a worker holds. */
export type HeldStatus = "CLAIMED" | "RUNNING";

/** Each with what it means, for people. */
const causes = {
  "worker crashed":
    "the worker's process is gone: its session has been missing for longer than recovery.crashGraceMs",
  "worker silent":
    "nothing has been heard of the worker for longer than workerRecovery.sweepThresholdMs",
  "worker unknown":
    "the worker is not registered, and nobody has vouched for the task for longer than workerRecovery.sweepThresholdMs",
  "claim stale":
    "the worker has not vouched for the claimed task for longer than recovery.claimedStaleThresholdMs",
  "lease expired": "the worker did not renew its claim before the lease was over",
  "run stale":
    "the worker has not vouched for the task for longer than recovery.runningStaleThresholdMs",
  "worker cut off":
    "the worker could write no heartbeat for longer than 0.9 of recovery.runningStaleThresholdMs and aborted the task",
  "claim unknown":
    "the database holds a claim of this worker that the worker has ended or never made: the server went back to an earlier state, as after a failover or a restore",
  shutdown: "the worker was stopped before the task had ended",
} as const;

export type RecoveryCause = keyof typeof causes;

/** What is known of a task that is to be taken from its worker, and of that worker. */
export interface Interruption {
  readonly cause: RecoveryCause;
  readonly workerId: string;
  /** Null where the worker is not registered. */
  readonly hostname: string | null;
  readonly pid: number | null;
  /** How long the worker's event loop had not turned when it was last heard of. */
  readonly loopBlockedMs: number | null;
  readonly lastHeartbeatAt: Date;
  readonly thresholdMs: number;
  /** By the database's clock. */
  readonly detectedAt: Date;
}

/** What stands in the error of a task that was interrupted, and in its row in `recoveries`. */
export type InterruptionEvidence = {
  readonly workerId: string;
  readonly hostname: string | null;
  readonly pid: number | null;
  readonly lastHeartbeatAt: string;
  readonly thresholdMs: number;
  readonly detectedAt: string;
  readonly reason: string;
};

/** @param remark why the task was not given another chance, where that is not the usual rule */
export function interruptionEvidence(
  interruption: Interruption,
  remark?: string,
): InterruptionEvidence {
  const { workerId, hostname, pid, lastHeartbeatAt, thresholdMs, detectedAt } = interruption;
  const reason = reasonOf(interruption);
  return {
    workerId,
    hostname,
    pid,
    lastHeartbeatAt: lastHeartbeatAt.toISOString(),
    thresholdMs,
    detectedAt: detectedAt.toISOString(),
    reason: remark === undefined ? reason : `${reason}; ${remark}`,
  };
}

export function interruptionError(
  data: InterruptionEvidence | { readonly reason: string },
): TaskFailure<ResultCode> {
  return { code: "WORKER_CRASHED", message: "Task recovered after worker interruption", data };
}

/** Of a run that its own worker has told to stop. */
export const interruptedByWorker = { reason: causes.shutdown };

/** The worker's last heartbeat may say why: its thread goes on when its event loop does not. */
function reasonOf({ cause, loopBlockedMs, thresholdMs }: Interruption): string {
  const isBlocked = loopBlockedMs !== null && loopBlockedMs >= thresholdMs / 2;
  if (!isBlocked) return causes[cause];
  if (cause === "worker crashed")
    return `the worker's process is gone; its event loop had been blocked for ${loopBlockedMs} ms: event loop blocked`;
  if (cause !== "run stale" && cause !== "claim stale") return causes[cause];
  return `the worker's process lives, but its event loop has been blocked for ${loopBlockedMs} ms: event loop blocked`;
}
