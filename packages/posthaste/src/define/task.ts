/** A defined task: an inert value that carries its types. */
import type { CrashRule } from "../domain/crash-policy.ts";
import type { ResultCode } from "../domain/errors.ts";
import type { Failure } from "../domain/result.ts";
import type { RetryPolicy } from "../domain/retry.ts";
import type { MaybePromise, StandardSchema } from "./schema.ts";
import type { TaskContext } from "./task-context.ts";

/** The types of one task in one bag. */
export interface TaskTypes {
  /** The input type of `send`; `undefined` if the task takes no input. */
  readonly input: unknown;
  /** The input type of `run`. */
  readonly parsed: unknown;
  /** The value that `run` returns or resolves to, besides a failure. */
  readonly returned: unknown;
  /** The value type of a result. */
  readonly output: unknown;
  /** The task's own codes. */
  readonly code: string;
}

/** Registered, not local: a task stays a task when two copies of this package are loaded. */
export const brand: unique symbol = Symbol.for("posthaste.task");

/** Any definition, with its handler or without. */
export interface AnyContract {
  /** True at run time; in types it carries the types of the task. */
  readonly [brand]: TaskTypes;
  readonly name: string;
  readonly queue: string | undefined;
  /** 1–100, lower runs first. */
  readonly priority: number | undefined;
  readonly retry: RetryPolicy | undefined;
  /** The longest that one attempt may take. */
  readonly timeoutMs: number | undefined;
  /** The rule for a crash of its worker. Undefined: the config decides. */
  readonly onCrash: CrashRule | undefined;
  /** So many crashes in a row end it. */
  readonly maxCrashes: number | undefined;
  /** How long its tasks are kept after their end. Undefined: the config decides. */
  readonly retentionHours: number | undefined;
  /** The task's own codes. */
  readonly errors: readonly string[];
  readonly flags: Readonly<Record<string, boolean>> | undefined;
  /** Whether `run` is called on a worker thread. */
  readonly blocking: boolean;
  readonly input: StandardSchema | undefined;
  readonly output: StandardSchema | undefined;
  /** Absent on contracts. A method, so that a task of any input type is assignable here. */
  run?(input: unknown, ctx: TaskContext): unknown;
}

/** Any task that a worker can run. */
export interface AnyTask extends AnyContract {
  run(input: unknown, ctx: TaskContext): unknown;
}

/** A definition without its handler, for producers. */
export interface TaskContract<Types extends TaskTypes = TaskTypes> extends AnyContract {
  readonly [brand]: Types;
  run?: never;
}

/** A definition with its handler. */
export interface Task<Types extends TaskTypes = TaskTypes> extends AnyTask {
  readonly [brand]: Types;
  run(
    input: Types["parsed"],
    ctx: TaskContext,
  ): MaybePromise<Types["returned"] | Failure<Types["code"]>>;
}

/** The input type of `send` for this task. */
export type InputOf<T extends AnyContract> = T[typeof brand]["input"];

/** The value type of a successful result of this task. */
export type OutputOf<T extends AnyContract> = T[typeof brand]["output"];

/** Every code a result of this task may carry: its own and the built-in ones. */
export type CodeOf<T extends AnyContract> = T[typeof brand]["code"] | ResultCode;

/** The arguments of `send` after the task: the input may be left out where the task takes none. */
export type SendArguments<T extends AnyContract, Options> =
  undefined extends InputOf<T>
    ? [input?: InputOf<T>, options?: Options]
    : [input: InputOf<T>, options?: Options];

/** Whether a value was made by `defineTask` or `implement` with a handler. */
export function isTask(value: unknown): value is AnyTask {
  return isContract(value) && typeof value.run === "function";
}

/** Whether a value was made by `defineTask` or `implement`, with a handler or without. */
export function isContract(value: unknown): value is AnyContract {
  return typeof value === "object" && value !== null && Reflect.get(value, brand) === true;
}
