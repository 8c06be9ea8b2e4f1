/** How work ended, as a value: plain JSON, narrowed by `if (result.ok)`. */
import type { Json } from "./json.ts";

/** What is kept of an error that user code threw. */
export interface ErrorCause {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: ErrorCause;
  /** Those that an `AggregateError` holds, as `Promise.any` throws it. */
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

/** What `fail()` returns: an expected failure on its way out of a handler. */
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
