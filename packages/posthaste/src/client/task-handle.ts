/** A task that was sent, from the sender's side. */
import type { AnyContract, CodeOf, OutputOf } from "../define/task.ts";
import { PosthasteError, TaskFailedError } from "../domain/errors.ts";
import { shown } from "../domain/option-reader.ts";
import type { TaskFailure, TaskResult } from "../domain/result.ts";
import { decodeResult } from "../domain/stored-result.ts";
import { TaskStatus } from "../domain/task-lifecycle.ts";
import type { Database } from "../engine/database.ts";
import { repeatSafely } from "../engine/repeat-safely.ts";
import type { ResultWaits, WaitOptions } from "./result-waits.ts";

/** One run of the body. */
export interface AttemptInfo {
  /** 1 for the first. */
  readonly attempt: number;
  /** RUNNING while it lasts; then how it ended: COMPLETED, FAILED, CANCELLED, INTERRUPTED or WORKER_FAILURE. */
  readonly outcome: string;
  readonly willRetry: boolean;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  readonly errorCode: string | null;
  readonly error: TaskFailure | null;
  readonly workerId: string;
}

export interface TaskInfo {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  readonly status: TaskStatus;
  readonly sentAt: Date;
  /** When it may be claimed; moves with every retry. */
  readonly enqueuedAt: Date;
  readonly claimedAt: Date | null;
  readonly startedAt: Date | null;
  readonly completedAt: Date | null;
  /** When it failed or expired. */
  readonly failedAt: Date | null;
  readonly cancelledAt: Date | null;
  readonly nextRetryAt: Date | null;
  readonly goodUntil: Date | null;
  readonly retryCount: number;
  readonly errorCode: string | null;
  /** Who holds it, or held it last. */
  readonly worker: {
    readonly id: string;
    readonly name: string | null;
    readonly hostname: string | null;
    readonly pid: number | null;
  } | null;
  /** Bodies that ran, oldest first. */
  readonly attempts: readonly AttemptInfo[];
}

export interface TaskHandle<T extends AnyContract = AnyContract> {
  readonly id: string;
  /** How the task ended, as a value. Throws only if *waiting* failed (WAIT_TIMEOUT, TASK_NOT_FOUND, the signal). */
  result(options?: WaitOptions): Promise<TaskResult<OutputOf<T>, CodeOf<T>>>;
  /** The value; throws TaskFailedError if the task did not succeed. */
  value(options?: WaitOptions): Promise<OutputOf<T>>;
  info(): Promise<TaskInfo>;
  /** "cancelled": it never runs. "requested": it is running, and ends CANCELLED. "finished": it had ended. */
  cancel(): Promise<"cancelled" | "requested" | "finished">;
}

export function taskHandle<T extends AnyContract>(
  database: Database,
  waits: ResultWaits,
  id: string,
): TaskHandle<T> {
  const result: TaskHandle<T>["result"] = async (options) => {
    checkWait(options);
    return decodeResult(await waits.wait(id, options));
  };
  return {
    id,
    result,
    async value(options) {
      const ended = await result(options);
      if (ended.ok) return ended.value;
      throw new TaskFailedError(id, ended.error);
    },
    info: () => repeatSafely(() => readInfo(database, id)),
    async cancel() {
      const answer = await repeatSafely(async (attempt) => {
        await database.ensureSchema();
        const said = await database.store.cancelTask(database.reads, id);
        if (said !== "finished" || attempt === 0) return said;
        // The answer to an earlier try was lost; that try may be what finished it.
        const [row] = await database.store.awaitResults.read(database.reads, [id]);
        return row?.status === TaskStatus.CANCELLED ? "cancelled" : said;
      });
      if (answer === null) throw notFound(id);
      // Behind the commit: whoever registered while the task was being cancelled is told now.
      if (answer === "cancelled")
        await repeatSafely(() => database.store.awaitResults.notify(database.reads, [id]));
      return answer;
    },
  };
}

async function readInfo(database: Database, id: string): Promise<TaskInfo> {
  await database.ensureSchema();
  const [row, attempts] = await Promise.all([
    database.store.readTask.row(database.reads, id),
    database.store.readTask.attempts(database.reads, id),
  ]);
  if (row === undefined) throw notFound(id);
  const { runNo: _, workerId, workerName, workerHostname, workerPid, ...facts } = row;
  return {
    ...facts,
    status: facts.status as TaskStatus,
    worker:
      workerId === null
        ? null
        : { id: workerId, name: workerName, hostname: workerHostname, pid: workerPid },
    attempts: attempts.map((attempt) => ({
      ...attempt,
      error: attempt.error === null ? null : (JSON.parse(attempt.error) as TaskFailure),
    })),
  };
}

function checkWait(options: WaitOptions | undefined): void {
  const timeoutMs: unknown = options?.timeoutMs;
  if (
    timeoutMs === undefined ||
    (typeof timeoutMs === "number" && timeoutMs >= 0 && timeoutMs <= LONGEST_WAIT_MS)
  ) {
    return;
  }
  throw PosthasteError.of("VALIDATION_FAILED", "cannot wait", [
    {
      path: "timeoutMs",
      message: `expected milliseconds from 0 to ${LONGEST_WAIT_MS}, found ${shown(timeoutMs)}`,
    },
  ]);
}

/** The longest timer there is. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

function notFound(id: string): PosthasteError {
  return new PosthasteError(
    "TASK_NOT_FOUND",
    `there is no task ${id}: it was never sent, or has been pruned`,
  );
}
