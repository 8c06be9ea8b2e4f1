/** The codes there are: those a result may carry, and those a failed call throws. Two channels, never mixed. */
import type { TaskFailure } from "./result.ts";

/** Codes in a result that Posthaste itself gives. A task's own codes may not repeat them. */
export const resultCodes = {
  UNHANDLED_ERROR: "the handler threw an error",
  WORKER_CRASHED: "the worker disappeared while the task was running",
  WORKER_SERIALIZATION_ERROR: "the input could not be read, or the value cannot be stored as JSON",
  WORKER_RESOLUTION_ERROR: "no worker has a handler for a task of that name",
  ARGUMENT_TYPE_MISMATCH: "the input schema refused the stored input",
  RETURN_TYPE_MISMATCH: "the output schema refused the returned value",
  TASK_TIMEOUT: "the attempt took longer than its timeoutMs",
  TASK_CANCELLED: "the task was cancelled",
  TASK_EXPIRED: "the task did not start before its goodUntil",
  RESULT_NOT_AVAILABLE: "the task has ended, but its result is not stored",
  UPSTREAM_SKIPPED: "a node that this one depends on was skipped",
  SUBWORKFLOW_FAILED: "the nested workflow did not succeed",
  WORKFLOW_FAILED: "the workflow ended with a failed node",
  WORKFLOW_SUCCESS_CASE_NOT_MET: "no node failed that had to succeed, but no success case was met",
  WORKFLOW_ITEMS_FAILED: "items of a fan-out failed",
  WORKFLOW_ENQUEUE_FAILED: "a node could not be started with the values it was given",
  WORKFLOW_CANCELLED: "the workflow was cancelled",
} as const;

export type ResultCode = keyof typeof resultCodes;

export function isResultCode(code: string): code is ResultCode {
  return Object.hasOwn(resultCodes, code);
}

/** Codes that a failed call of ours throws, and whether the same call may succeed later. */
const thrownCodes = {
  VALIDATION_FAILED: { retryable: false },
  PAYLOAD_TOO_LARGE: { retryable: false },
  CONFIG_INVALID: { retryable: false },
  DEFINITION_INVALID: { retryable: false },
  DATABASE_UNAVAILABLE: { retryable: true },
  STATEMENT_TIMEOUT: { retryable: true },
  WAIT_TIMEOUT: { retryable: true },
  TASK_NOT_FOUND: { retryable: false },
  WORKFLOW_NOT_FOUND: { retryable: false },
  QUEUE_NOT_FOUND: { retryable: false },
  SCHEDULE_NOT_FOUND: { retryable: false },
  SCHEMA_MISMATCH: { retryable: false },
  PERMISSION_DENIED: { retryable: false },
  CLOSED: { retryable: false },
} as const;

export type ThrownCode = keyof typeof thrownCodes;

/** One thing that is wrong, and where. */
export interface Problem {
  /** Where: an option name, or a path into an input such as `items[3].price`. Empty for the whole. */
  readonly path: string;
  readonly message: string;
  /** Where a problem has one: stable, for programs and for looking it up. */
  readonly code?: string;
}

/** A call of ours that failed. How a *task* ended is never thrown, except by `handle.value()`. */
export class PosthasteError extends Error {
  override readonly name = "PosthasteError";
  readonly code: ThrownCode;
  /** Whether the same call may succeed later without a change. */
  readonly retryable: boolean;
  readonly problems: readonly Problem[];

  constructor(
    code: ThrownCode,
    message: string,
    details: { cause?: unknown; problems?: readonly Problem[]; retryable?: boolean } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.retryable = details.retryable ?? thrownCodes[code].retryable;
    this.problems = details.problems ?? [];
  }

  /** One error for all problems, each on its own line, so that all can be fixed at once. */
  static of(code: ThrownCode, what: string, problems: readonly Problem[]): PosthasteError {
    const lines = problems.map(({ path, message }) =>
      path === "" ? message : `${path}: ${message}`,
    );
    const text =
      lines.length === 1 ? `${what}: ${lines[0]}` : `${what}:\n  - ${lines.join("\n  - ")}`;
    return new PosthasteError(code, text, { problems });
  }
}

/** Thrown by `handle.value()` when the task did not succeed. */
export class TaskFailedError<Code extends string = string> extends Error {
  override readonly name = "TaskFailedError";
  readonly code: Code;
  readonly taskId: string;
  readonly error: TaskFailure<Code>;

  constructor(taskId: string, error: TaskFailure<Code>) {
    super(`task ${taskId} ended with ${error.code}: ${error.message}`);
    this.code = error.code;
    this.taskId = taskId;
    this.error = error;
  }
}

/** Thrown by `run.value()` when the run did not succeed. */
export class WorkflowFailedError<Code extends string = string> extends Error {
  override readonly name = "WorkflowFailedError";
  readonly code: Code;
  readonly workflowId: string;
  readonly error: TaskFailure<Code>;

  constructor(workflowId: string, error: TaskFailure<Code>) {
    super(`run ${workflowId} ended with ${error.code}: ${error.message}`);
    this.code = error.code;
    this.workflowId = workflowId;
    this.error = error;
  }
}
