/** A task that was sent, from the sender's side. */
import type { Json } from "../domain/json.ts";
import type { AttemptInfo, TaskResult, TaskRetry } from "../domain/result.ts";
import type { TaskStatus } from "../domain/task-lifecycle.ts";
import type { AnyContract, CodeOf, OutputOf } from "./task.ts";

export interface WaitOptions {
  /** Stop waiting after this long: WAIT_TIMEOUT, which says nothing about the task. Default: wait as long as it takes. */
  readonly timeoutMs?: number;
  /** Stop waiting when it aborts; rejects with its reason. */
  readonly signal?: AbortSignal;
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
  /** The last report of `ctx.progress()`. */
  readonly progress: Json | null;
  /** The worker that has claimed it, or claimed it last. */
  readonly worker: {
    readonly id: string;
    readonly name: string | null;
    readonly hostname: string | null;
    readonly pid: number | null;
  } | null;
  /** Handlers that ran, oldest first. */
  readonly attempts: readonly AttemptInfo[];
  /** Ends that operators took back by a retry, oldest first. */
  readonly retries: readonly TaskRetry[];
  /** The task of which an operator sent this one as a copy. */
  readonly copyOf: string | null;
}

export interface TaskHandle<T extends AnyContract = AnyContract> {
  readonly id: string;
  /**
   * How the task ended, as a value. Throws only if *waiting* failed (WAIT_TIMEOUT, TASK_NOT_FOUND, the signal).
   *
   * TASK_NOT_FOUND is thrown at once if there is no such task: with `tx`, ask after the commit. It is thrown after two
   * polls (`resilience.notifyPollIntervalMs`, 5 s) if the task was there and is not any more: pruned, or not in the
   * database that a failover or a restore brought.
   */
  result(options?: WaitOptions): Promise<TaskResult<OutputOf<T>, CodeOf<T>>>;
  /** The value; throws TaskFailedError if the task did not succeed. */
  value(options?: WaitOptions): Promise<OutputOf<T>>;
  info(): Promise<TaskInfo>;
  /** The last report of `ctx.progress()`; null without one. */
  progress(): Promise<Json | null>;
  /**
   * "cancelled": it never runs. "requested": it is running, its `ctx.signal` aborts, and it ends CANCELLED. "finished": it
   * had ended.
   */
  cancel(): Promise<"cancelled" | "requested" | "finished">;
}
