/** How work ended, as a value: plain JSON, narrowed by `if (result.ok)`. */
import type { ResultCode } from "./errors.ts";
import type { Json } from "./json.ts";
import { TaskStatus } from "./task-lifecycle.ts";

/** A stored error of user code. */
export interface ErrorCause {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: ErrorCause;
  /** The inner errors of an `AggregateError`, as `Promise.any` throws it. */
  readonly errors?: readonly ErrorCause[];
}

export interface TaskFailure<Code extends string = string> {
  readonly code: Code;
  readonly message: string;
  readonly data?: Json;
  readonly cause?: ErrorCause;
}

export type TaskResult<Value, Code extends string = string> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: TaskFailure<Code> };

declare const failure: unique symbol;
/** Registered, not local: a failure stays one when two copies of this package are loaded. */
const failureBrand = Symbol.for("posthaste.failure");

/** Returned by `fail()`: an expected failure of a handler. */
export class Failure<Code extends string = string> {
  declare readonly [failure]: Code;
  readonly [failureBrand] = true;
  readonly error: TaskFailure<Code>;

  constructor(error: TaskFailure<Code>) {
    this.error = error;
  }
}

/**
 * Ends the task with an error of its own.
 *
 *     if (card.expired) return fail("CARD_EXPIRED", "the card ran out in May", { last4 });
 */
export function fail<const Code extends string>(
  code: Code,
  message: string = code,
  data?: Json,
): Failure<Code> {
  return new Failure({ code, message, ...(data === undefined ? {} : { data }) });
}

/** The same, thrown: for code too deep to return from. */
export class TaskError<Code extends string = string> extends Error {
  override readonly name = "TaskError";
  readonly code: Code;
  readonly data?: Json;

  constructor(code: Code, message: string = code, data?: Json) {
    super(message);
    this.code = code;
    if (data !== undefined) this.data = data;
  }
}

/** Neither asks a value anything that a revoked proxy would answer with an exception of its own. */
export function isFailure(value: unknown): value is Failure {
  return asks(() => (value as { [failureBrand]?: unknown } | null)?.[failureBrand] === true);
}

export function isTaskError(thrown: unknown): thrown is TaskError {
  return asks(() => thrown instanceof Error && thrown.name === "TaskError" && "code" in thrown);
}

function asks(question: () => boolean): boolean {
  try {
    return question();
  } catch {
    return false; // a revoked proxy, or a getter that throws: none of ours does
  }
}

/** Turns a stored result into the value that a caller gets. */
export function decodeResult(stored: {
  readonly status: string | null;
  readonly result: string | null;
  readonly error: string | null;
}): TaskResult<unknown> {
  const { status, result, error } = stored;
  if (status === TaskStatus.COMPLETED && result !== null)
    return { ok: true, value: JSON.parse(result) };
  if (error !== null) return { ok: false, error: JSON.parse(error) as TaskFailure };
  const code: ResultCode = "RESULT_NOT_AVAILABLE";
  return {
    ok: false,
    error: { code, message: `the task is ${status}, but its result is not stored` },
  };
}

/** One execution of a handler. */
/** An end that an operator took back: the task ran again under its id. */
export interface TaskRetry {
  readonly retriedAt: Date;
  /** As `admin.as()` said, or the role that was logged in. */
  readonly retriedBy: string;
  /** How the task had ended: FAILED, CANCELLED or EXPIRED. */
  readonly status: TaskStatus;
  readonly finishedAt: Date;
  /** Handlers that had begun until then. */
  readonly attempt: number;
  readonly errorCode: string;
  readonly error: TaskFailure | null;
  /** The new deadline; null: the one it had. */
  readonly goodUntil: Date | null;
}

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
