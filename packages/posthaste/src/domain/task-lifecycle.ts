/**
 * The life of a task: the statuses there are, and the only ways to move between them.
 *
 * Pure: no clock, no randomness, no I/O. Every statement that moves a task names an edge of this table; the CHECK
 * constraints and the diagram in ARCHITECTURE.md are compared with it or made from it.
 */
import type { ResultCode } from "./errors.ts";
import type { TaskFailure, TaskResult } from "./result.ts";
import type { RetryPolicy } from "./retry.ts";
import { mayRetry, retryDelayMs } from "./retry.ts";

export const taskLifecycle = {
  send: { from: [], to: "PENDING" },
  /** A direct start: a worker of the same app has a free slot and no due task comes first. */
  sendAndStart: { from: [], to: "RUNNING" },
  claim: { from: ["PENDING"], to: "CLAIMED" },
  /** Claim and start in one move, where a slot is free now: RUNNING means "user code may have begun". */
  claimAndStart: { from: ["PENDING"], to: "RUNNING" },
  start: { from: ["CLAIMED"], to: "RUNNING" },
  /** Given back before the handler ran. */
  release: { from: ["CLAIMED", "RUNNING"], to: "PENDING" },
  /** Given back although the handler may have run: the attempt is kept in the history, the retry budget is not touched. */
  requeue: { from: ["RUNNING"], to: "PENDING" },
  succeed: { from: ["RUNNING"], to: "COMPLETED" },
  retry: { from: ["RUNNING"], to: "PENDING" },
  fail: { from: ["RUNNING"], to: "FAILED" },
  /** A verdict on a task whose handler is not running: an operator's, or a recovery hook's. */
  failUnstarted: { from: ["PENDING", "CLAIMED"], to: "FAILED" },
  cancel: { from: ["PENDING", "CLAIMED", "RUNNING"], to: "CANCELLED" },
  expire: { from: ["PENDING", "CLAIMED"], to: "EXPIRED" },
  /** An operator runs an ended task again. Nothing else changes a terminal status, and nothing ever changes COMPLETED. */
  retryEnded: { from: ["FAILED", "CANCELLED", "EXPIRED"], to: "PENDING", isOperators: true },
} as const satisfies Record<string, { from: readonly string[]; to: string; isOperators?: true }>;

export type TaskEdge = keyof typeof taskLifecycle;
export type TaskStatus = (typeof taskLifecycle)[TaskEdge]["to"];

/** The seven statuses by name, for comparisons: `info.status === TaskStatus.COMPLETED`. */
export const TaskStatus = {
  PENDING: "PENDING",
  CLAIMED: "CLAIMED",
  RUNNING: "RUNNING",
  COMPLETED: "COMPLETED",
  FAILED: "FAILED",
  CANCELLED: "CANCELLED",
  EXPIRED: "EXPIRED",
} as const satisfies { readonly [Status in TaskStatus]: Status };

/** The statuses in which a task has ended: it stays in them unless an operator retries it. */
export const TASK_TERMINAL_STATES: readonly TaskStatus[] = [
  "COMPLETED",
  "FAILED",
  "CANCELLED",
  "EXPIRED",
];

/** An end that an operator may take back. */
export type RetryableStatus = (typeof taskLifecycle)["retryEnded"]["from"][number];
/** A status of a task that has not ended. */
export type OpenStatus = Exclude<TaskStatus, RetryableStatus | typeof TaskStatus.COMPLETED>;

export const RETRYABLE_STATES = taskLifecycle.retryEnded.from;

export function isTerminal(status: TaskStatus): boolean {
  return TASK_TERMINAL_STATES.includes(status);
}

/** The facts about an attempt whose handler has ended. */
export interface AttemptFacts {
  readonly retry: RetryPolicy | null;
  /** Retries already spent, 0 on the first attempt. */
  readonly retryCount: number;
  /** Its worker is stopping and had told it to stop. */
  readonly isInterrupted?: boolean;
}

/** How an attempt ends. Delays, not instants: PostgreSQL owns the clock. */
export type DecidedEdge =
  | { readonly edge: "succeed"; readonly value: unknown }
  | { readonly edge: "retry"; readonly error: TaskFailure; readonly delayMs: number }
  | { readonly edge: "requeue"; readonly error: TaskFailure }
  | { readonly edge: "fail"; readonly error: TaskFailure };

/**
 * Decides what to write for an attempt that has ended. `random` is in [0, 1) and only spreads the delay.
 */
export function settle(
  attempt: AttemptFacts,
  result: TaskResult<unknown>,
  random: number,
): DecidedEdge {
  if (result.ok) return { edge: "succeed", value: result.value };

  const { error } = result;
  const { retry, retryCount, isInterrupted = false } = attempt;
  // An error after the handler was told to stop is how it stopped, not a failure. A returned value or `fail()` counts.
  if (isInterrupted && error.code === ("UNHANDLED_ERROR" satisfies ResultCode))
    return { edge: "requeue", error };
  if (retry === null || !mayRetry(retry, retryCount, error.code)) return { edge: "fail", error };
  return { edge: "retry", error, delayMs: retryDelayMs(retry, retryCount, random) };
}

/** The facts that only the row has at the moment of the move, by the database's clock. */
export interface MoveFacts {
  readonly cancelRequested: boolean;
  /** Milliseconds until `good_until`, negative when it has passed, null when there is none. */
  readonly msUntilDeadline: number | null;
}

/**
 * The status a settlement leads to. The settling statement applies the same two overrides in SQL, where the row is
 * locked; this is the rule in one place and the oracle its test compares with.
 *  - A task whose cancellation was requested ends CANCELLED, whatever its handler returned: the caller was promised so.
 *  - A retry that could not start before the deadline is no retry: the task fails with its own error.
 */
export function statusAfter(settlement: DecidedEdge, facts: MoveFacts): TaskStatus {
  if (facts.cancelRequested) return taskLifecycle.cancel.to;
  if (settlement.edge !== "retry") return taskLifecycle[settlement.edge].to;
  const tooLate = facts.msUntilDeadline !== null && settlement.delayMs >= facts.msUntilDeadline;
  return tooLate ? taskLifecycle.fail.to : taskLifecycle.retry.to;
}
