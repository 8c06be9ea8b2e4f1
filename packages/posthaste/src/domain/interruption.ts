/** Why a task is recovered, and the text about it in its error and in `recoveries`. */
import type { ResultCode } from "./errors.ts";
import type { TaskFailure } from "./result.ts";

/** The status of a task that a worker has claimed. */
export type HeldStatus = "CLAIMED" | "RUNNING";

/** Each cause with its meaning, for people. */
const causes = {
  "worker crashed":
    "the worker's process is gone: its session has been missing for longer than recovery.crashGraceMs",
  "worker silent": "the worker had no heartbeat for longer than workerRecovery.sweepThresholdMs",
  "worker unknown":
    "the worker is not registered, and the task had no heartbeat for longer than workerRecovery.sweepThresholdMs",
  "claim stale":
    "the claimed task had no heartbeat for longer than recovery.claimedStaleThresholdMs",
  "lease expired": "the worker did not renew its claim before the lease was over",
  "run stale": "the task had no heartbeat for longer than recovery.runningStaleThresholdMs",
  "worker cut off":
    "the worker could store no heartbeat for longer than 0.9 of recovery.runningStaleThresholdMs and aborted the task",
  "claim unknown":
    "the database holds a claim of this worker that the worker has ended or never made: the server went back to an earlier state, as after a failover or a restore",
  shutdown: "the worker was stopped before the task had ended",
} as const;

export type RecoveryCause = keyof typeof causes;

/** The facts about a task that is to be recovered, and about its worker. */
export interface Interruption {
  readonly cause: RecoveryCause;
  readonly workerId: string;
  /** Null where the worker is not registered. */
  readonly hostname: string | null;
  readonly pid: number | null;
  /** How long the worker's event loop had been blocked at its last heartbeat. */
  readonly loopBlockedMs: number | null;
  readonly lastHeartbeatAt: Date;
  /** The one that holds for this task. */
  readonly thresholdMs: number;
  /** By the database's clock. */
  readonly detectedAt: Date;
}

/** The details in the error of an interrupted task, and in its row in `recoveries`. */
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

/** For an attempt that its own worker told to stop. */
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
