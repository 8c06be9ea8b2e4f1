/**
 * Runs the handler of a task and returns how it ended. It never throws and never rejects.
 *
 * It returns without a promise where it can: Node tracks every promise to attribute uncaught errors (see uncaught-errors.ts), and one
 * at each step doubled the allocations of a task.
 */
import {
  isThenable,
  validate,
  validateStored,
  type MaybePromise,
  type Validated,
} from "../../define/schema.ts";
import type { TaskContext } from "../../define/task-context.ts";
import type { AnyTask } from "../../define/task.ts";
import type { Problem, ResultCode } from "../../domain/errors.ts";
import { encodeJson } from "../../domain/json.ts";
import { codeProblem } from "../../domain/names.ts";
import { isFailure, isTaskError, type ErrorCause, type TaskFailure } from "../../domain/result.ts";
import { serializeError } from "./serialize-error.ts";

export type Execution =
  /** `value` is JSON text. */
  | { readonly ran: true; readonly ok: true; readonly value: string; readonly bytes: number }
  | { readonly ran: boolean; readonly ok: false; readonly error: TaskFailure };

export interface ExecuteTask {
  readonly task: AnyTask | undefined;
  readonly name: string;
  /** JSON text, as it was stored. */
  readonly input: string;
  readonly context: TaskContext;
  /** The most bytes of JSON that a value may take; null: as many as PostgreSQL stores. */
  readonly resultLimit: number | null;
}

export function executeTask(execute: ExecuteTask): MaybePromise<Execution> {
  const { task, name, input } = execute;
  if (task === undefined) {
    return failedBeforeHandler(
      "WORKER_RESOLUTION_ERROR",
      `this worker has no handler for a task named "${name}"`,
    );
  }
  let stored: unknown;
  try {
    stored = JSON.parse(input);
  } catch (error) {
    return failedBeforeHandler(
      "WORKER_SERIALIZATION_ERROR",
      `the stored input is not JSON: ${String(error)}`,
    );
  }
  const checked = validateStored(task.input, stored);
  return checked instanceof Promise
    ? checked.then((late) => runChecked(task, late, execute))
    : runChecked(task, checked, execute);
}

function runChecked(
  task: AnyTask,
  checked: Validated,
  { context, resultLimit }: ExecuteTask,
): MaybePromise<Execution> {
  if (!checked.ok) {
    return failedBeforeHandler(
      "ARGUMENT_TYPE_MISMATCH",
      sentence("the input schema refused the stored input", checked.problems),
    );
  }
  try {
    const returned: unknown = task.run(checked.value, context);
    if (!isThenable(returned)) return judgeReturned(task, returned, resultLimit);
    return Promise.resolve(returned).then(
      (value) => judgeReturned(task, value, resultLimit),
      failed,
    );
  } catch (thrown) {
    return failed(thrown);
  }
}

function failed(thrown: unknown): Execution {
  return { ran: true, ok: false, error: thrownFailure(thrown) };
}

/** Reading the returned value may throw. */
export function judgeReturned(
  task: AnyTask,
  returned: unknown,
  resultLimit: number | null,
): MaybePromise<Execution> {
  try {
    if (isFailure(returned)) {
      return { ran: true, ok: false, error: storableFailure(returned.error) };
    }
    const checked = validate(task.output, returned);
    return checked instanceof Promise
      ? checked.then((late) => judgeChecked(late, resultLimit)).catch(failed)
      : judgeChecked(checked, resultLimit);
  } catch (thrown) {
    return failed(thrown);
  }
}

function judgeChecked(checked: Validated, rejectBytes: number | null): Execution {
  if (!checked.ok) {
    return failedAfterHandler(
      "RETURN_TYPE_MISMATCH",
      sentence("the output schema refused the returned value", checked.problems),
    );
  }
  const encoded = encodeJson(checked.value, { rejectBytes });
  if (!encoded.ok) {
    return failedAfterHandler(
      "WORKER_SERIALIZATION_ERROR",
      encoded.tooLarge === undefined
        ? sentence("the returned value cannot be stored as JSON", encoded.problems)
        : `the returned value is ${encoded.tooLarge} bytes of JSON, payload.rejectBytes allows ${rejectBytes}; store it elsewhere and return a reference`,
    );
  }
  return { ran: true, ok: true, value: encoded.text, bytes: encoded.bytes };
}

export function thrownFailure(thrown: unknown): TaskFailure {
  if (isTaskError(thrown)) {
    const { code, message, data } = thrown;
    return storableFailure({
      code,
      message,
      ...(data === undefined ? {} : { data }),
      cause: serializeError(thrown),
    });
  }
  const cause = serializeError(thrown);
  const message = cause.stack === undefined ? nonErrorMessage(thrown, cause) : cause.message;
  return { code: "UNHANDLED_ERROR" satisfies ResultCode, message, cause };
}

function nonErrorMessage(thrown: unknown, { name, message }: ErrorCause): string {
  if (thrown === undefined || thrown === null) return `${String(thrown)} was thrown`;
  return `${name === "object" ? "an" : "a"} ${name} was thrown: ${message}`;
}

/** Every failure must be storable: an invalid code or value is replaced by a description of it. */
function storableFailure(error: TaskFailure): TaskFailure {
  const wrongCode = codeProblem(error.code);
  if (wrongCode !== undefined) {
    return thrownFailure(new TypeError(`fail() needs an UPPER_SNAKE_CASE code: ${wrongCode}`));
  }
  const { message } = serializeError(new Error(error.message));
  if (error.data === undefined) return { ...error, message };
  const encoded = encodeJson(error.data, { rejectBytes: LARGEST_ERROR_DATA });
  if (encoded.ok) return { ...error, message };
  const why =
    encoded.tooLarge === undefined
      ? sentence("the data cannot be stored as JSON", encoded.problems)
      : `the data is ${encoded.tooLarge} bytes of JSON, ${LARGEST_ERROR_DATA} are kept`;
  return { ...error, message, data: { notStorable: why } };
}

/** Bounded: people read it, and every attempt stores its own. */
const LARGEST_ERROR_DATA = 262_144;

function failedBeforeHandler(code: ResultCode, message: string): Execution {
  return { ran: false, ok: false, error: { code, message } };
}

function failedAfterHandler(code: ResultCode, message: string): Execution {
  return { ran: true, ok: false, error: { code, message } };
}

function sentence(what: string, problems: readonly Problem[]): string {
  const texts = problems.map(({ path, message }) =>
    path === "" ? message : `${path}: ${message}`,
  );
  return `${what}: ${texts.join("; ")}`;
}
