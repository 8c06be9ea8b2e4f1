/**
 * Runs one task's body and says how it ended, whatever the body did: this does not throw and does not reject.
 *
 * It answers at once where it can. Node follows every promise to know which task it belongs to (see stray-errors.ts), and
 * with one at each step a task allocated twice as much.
 */
import type { AnyTask } from "../define/task.ts";
import {
  isThenable,
  validate,
  validateStored,
  type MaybePromise,
  type Validated,
} from "../define/schema.ts";
import type { TaskContext } from "../define/task-context.ts";
import type { Problem, ResultCode } from "../domain/errors.ts";
import { encodeJson } from "../domain/json.ts";
import { codeProblem } from "../domain/names.ts";
import { isFailure, isTaskError, type ErrorCause, type TaskFailure } from "../domain/result.ts";
import { describeError } from "./describe-error.ts";

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
    return beforeBody("WORKER_RESOLUTION_ERROR", `this worker knows no task named "${name}"`);
  }
  let stored: unknown;
  try {
    stored = JSON.parse(input);
  } catch (error) {
    return beforeBody(
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
    return beforeBody(
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

/** What was returned may throw when it is looked at. */
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
    return afterBody(
      "RETURN_TYPE_MISMATCH",
      sentence("the output schema refused the returned value", checked.problems),
    );
  }
  const encoded = encodeJson(checked.value, { rejectBytes });
  if (!encoded.ok) {
    return afterBody(
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
      cause: describeError(thrown),
    });
  }
  const cause = describeError(thrown);
  const message = cause.stack === undefined ? nonErrorMessage(thrown, cause) : cause.message;
  return { code: "UNHANDLED_ERROR" satisfies ResultCode, message, cause };
}

function nonErrorMessage(thrown: unknown, { name, message }: ErrorCause): string {
  if (thrown === undefined || thrown === null) return `${String(thrown)} was thrown`;
  return `${name === "object" ? "an" : "a"} ${name} was thrown: ${message}`;
}

/** A failure is stored whatever its code and data: what cannot be is named in its place. */
function storableFailure(error: TaskFailure): TaskFailure {
  const wrongCode = codeProblem(error.code);
  if (wrongCode !== undefined) {
    return thrownFailure(new TypeError(`fail() was called with a code that is none: ${wrongCode}`));
  }
  const { message } = describeError(new Error(error.message));
  if (error.data === undefined) return { ...error, message };
  const encoded = encodeJson(error.data, { rejectBytes: LARGEST_ERROR_DATA });
  if (encoded.ok) return { ...error, message };
  const why =
    encoded.tooLarge === undefined
      ? sentence("the data cannot be stored as JSON", encoded.problems)
      : `the data is ${encoded.tooLarge} bytes of JSON, ${LARGEST_ERROR_DATA} are kept`;
  return { ...error, message, data: { notStorable: why } };
}

/** An error is for people to read, and every attempt keeps its own. */
const LARGEST_ERROR_DATA = 262_144;

function beforeBody(code: ResultCode, message: string): Execution {
  return { ran: false, ok: false, error: { code, message } };
}

function afterBody(code: ResultCode, message: string): Execution {
  return { ran: true, ok: false, error: { code, message } };
}

function sentence(what: string, problems: readonly Problem[]): string {
  const said = problems.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  return `${what}: ${said.join("; ")}`;
}
