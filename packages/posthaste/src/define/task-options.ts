/**
 * The options of `defineTask`, and the types inferred from them. A mistake becomes a message type, to which nothing is assignable, so the
 * compiler prints its sentence at the wrong option.
 */
import type { CrashRule } from "../domain/crash-policy.ts";
import type { ResultCode } from "../domain/errors.ts";
import type { Failure } from "../domain/result.ts";
import type { RetryPolicyFor } from "./retry-policies.ts";
import type { MaybePromise, SchemaInput, SchemaOutput, StandardSchema } from "./schema.ts";
import type { StorageProblem } from "./storable.ts";
import type { TaskContext } from "./task-context.ts";
import type { Task, TaskContract, TaskTypes } from "./task.ts";

export type OptionalSchema = StandardSchema | undefined;

declare const absent: unique symbol;
/** The return type where there is no handler. */
export interface Absent {
  readonly [absent]: never;
}

// A handler may well return any, unknown or never.
type IsAbsent<Type> = unknown extends Type
  ? false
  : [Type] extends [never]
    ? false
    : [Type] extends [Absent]
      ? true
      : false;

/** `Annotated` is the type that a handler without an input schema gives its first parameter, null when it gives none. */
export interface TaskOptions<
  Input extends OptionalSchema,
  Output extends OptionalSchema,
  Code extends string,
  RetryCode extends string,
  Annotated,
  Returned,
> {
  /** Unique in an app: 1–255 printable characters. */
  readonly name: string;
  /** Any Standard Schema. `send` takes the schema's input type, `run` receives its output type. */
  readonly input?: Input & StorableInput<Input>;
  /** Any Standard Schema. `run` returns the schema's input type, results have its output type. */
  readonly output?: Output & StorableOutput<Output>;
  /** The task's own codes, UPPER_SNAKE. */
  readonly errors?: readonly Code[] & OwnCodes<Code>;
  /** Default `"default"`. */
  readonly queue?: string;
  /** 1–100, lower runs first. Default: the queue's, else 100. */
  readonly priority?: number;
  /** `fixed(…)` or `exponential(…)`. Default: no retries. */
  readonly retry?: RetryPolicyFor<RetryCode> & KnownCodes<RetryCode, Code>;
  /** The longest that one attempt may take; then it ends with TASK_TIMEOUT, and `ctx.signal` aborts. Default: as long as it takes. */
  readonly timeoutMs?: number;
  /**
   * The rule for a task whose worker crashes while it runs. `"policy"`: it is retried if `retryFor` lists WORKER_CRASHED and retries
   * remain, else it fails. `"requeue"`: it runs again and spends no retry, for tasks that may run twice. `"fail"`: it fails. Default: `"requeue"` where `workerRecovery` is enabled, else `"policy"`.
   */
  readonly onCrash?: CrashRule;
  /** This many crashes in a row end the task with WORKER_CRASHED, whatever `onCrash`; at least 1. Default 3. */
  readonly maxCrashes?: number;
  /**
   * How long a task of this name is kept after its end, with its attempts and progress, 1–43,800 hours. Default: the config's
   * `recovery.failedRecordRetentionHours` or `terminalRecordRetentionHours`. A node stays as long as its run.
   */
  readonly retentionHours?: number;
  /** Names for others to act on; `INFRASTRUCTURE_RESILIENT_FLAG` leaves the task to a worker that fell silent for longer. */
  readonly flags?: readonly string[] | Readonly<Record<string, boolean>>;
  /**
   * Runs the handler on a worker thread, so that code which computes for long, or never returns to the event loop, delays
   * nothing else and can be stopped. The thread loads the file that makes the app once more: what that file does at its
   * top level happens there too, up to its first use of the app. Default false.
   */
  readonly blocking?: boolean;
  /** Returns or resolves to the value, or to `fail(…)`. Left out, the definition is a contract. */
  readonly run?: Handler<Input, Output, NoInfer<Code>, Annotated, Returned>;
}

type StorableInput<Input> = Input extends StandardSchema ? Verdict<SchemaInput<Input>> : unknown;

type StorableOutput<Output> = Output extends StandardSchema
  ? Verdict<SchemaOutput<Output>>
  : unknown;

type Verdict<Type> = [StorageProblem<Type>] extends [never] ? unknown : StorageProblem<Type>;

/** Codes that are only known as strings are checked when the task is defined. */
type OwnCodes<Code extends string> = string extends Code
  ? unknown
  : [Code & ResultCode] extends [never]
    ? unknown
    : `"${Code & ResultCode}" is a built-in code; choose another name.`;

export type KnownCodes<RetryCode extends string, Code extends string> = [
  Exclude<RetryCode, Code | ResultCode>,
] extends [never]
  ? unknown
  : `"${Exclude<RetryCode, Code | ResultCode>}" is neither a built-in code nor one of the task's errors.`;

/**
 * A conditional type, not a function type with a conditional result: only so does the checker put in the output schema
 * before it looks into the handler, and `"paid"` there stays the literal that the schema asks for.
 */
export type Handler<
  Input extends OptionalSchema,
  Output extends OptionalSchema,
  Code extends string,
  Annotated,
  Returned,
> = Output extends StandardSchema
  ? (
      input: Received<Input, Annotated>,
      ctx: TaskContext,
    ) => MaybePromise<SchemaInput<Output> | Failure<Code>>
  : (input: Received<Input, Annotated>, ctx: TaskContext) => CheckedReturn<Returned, Code>;

type Received<Input extends OptionalSchema, Annotated> = Input extends StandardSchema
  ? SchemaOutput<Input>
  : CheckedAnnotation<Annotated>;

/** An input that is left out arrives as null, which an optional parameter without a schema must allow. */
type CheckedAnnotation<Annotated> = [StorageProblem<Annotated>] extends [never]
  ? ForgetsNull<Annotated> extends true
    ? "an input that is left out arrives as null; add `| null` to its type."
    : Annotated
  : StorageProblem<Annotated>;

type ForgetsNull<Annotated> = unknown extends Annotated
  ? false
  : [Annotated] extends [undefined | void]
    ? false
    : undefined extends Annotated
      ? null extends Annotated
        ? false
        : true
      : false;

export type CheckedReturn<Returned, Code extends string> =
  // Nothing is inferred for the handler after a mistake in another option: one message is enough.
  IsAbsent<Returned> extends true
    ? unknown
    : [Exclude<FailureCode<Returned>, Code>] extends [never]
      ? [StorageProblem<ValueOf<Returned>>] extends [never]
        ? Returned
        : StorageProblem<ValueOf<Returned>>
      : `"${Exclude<FailureCode<Returned>, Code>}" is not one of the task's errors.`;

/** Nothing is known of the codes in any and unknown: the worker looks at them. */
type FailureCode<Returned> = unknown extends Awaited<Returned> ? never : CodeIn<Awaited<Returned>>;

type CodeIn<Value> = Value extends Failure<infer Code> ? Code : never;

export type ValueOf<Returned> = Exclude<Awaited<Returned>, Failure>;

/** The type that a caller reads: a result of `undefined` is stored as null. */
export type StoredAs<Value> = Value extends undefined | void ? null : Value;

/** Written out rather than named, so that an editor shows the four types and not a formula. */
export type Defined<
  Input extends OptionalSchema,
  Output extends OptionalSchema,
  Code extends string,
  Annotated,
  Returned,
> =
  IsAbsent<Returned> extends true
    ? TaskContract<{
        readonly input: SentInput<Input, Annotated>;
        readonly parsed: ParsedInput<Input, Annotated>;
        readonly returned: Output extends StandardSchema ? SchemaInput<Output> : unknown;
        readonly output: Output extends StandardSchema ? StoredAs<SchemaOutput<Output>> : unknown;
        readonly code: Code;
      }>
    : Task<{
        readonly input: SentInput<Input, Annotated>;
        readonly parsed: ParsedInput<Input, Annotated>;
        readonly returned: Output extends StandardSchema ? SchemaInput<Output> : ValueOf<Returned>;
        readonly output: Output extends StandardSchema
          ? StoredAs<SchemaOutput<Output>>
          : StoredAs<ValueOf<Returned>>;
        readonly code: Code;
      }>;

/** An annotation that leaves nothing to send is none: the input is left out, or null, and arrives as null. */
type SentInput<Input extends OptionalSchema, Annotated> = Input extends StandardSchema
  ? SchemaInput<Input>
  : [Annotated] extends [null | undefined | void]
    ? null | undefined
    : Annotated;

type ParsedInput<Input extends OptionalSchema, Annotated> = Input extends StandardSchema
  ? SchemaOutput<Input>
  : Annotated;

/** The handler of a contract, for `implement`. Without an output schema it may return any value that JSON keeps. */
export type Implementation<Types extends TaskTypes, Returned> = unknown extends Types["returned"]
  ? (input: Types["parsed"], ctx: TaskContext) => CheckedReturn<Returned, Types["code"]>
  : (
      input: Types["parsed"],
      ctx: TaskContext,
    ) => MaybePromise<Types["returned"] | Failure<Types["code"]>>;
