/** The second argument of a handler: its attempt. Pass it on as it is: a spread copy has no signal. */
import type { Json } from "../domain/json.ts";
import type { Logger } from "../domain/logger.ts";
import type { NodeContext } from "./node-context.ts";
import type { CallersTransaction, SendOptions } from "./send-options.ts";
import type { TaskHandle } from "./task-handle.ts";
import type { AnyContract, SendArguments } from "./task.ts";

/**
 * Declares the type of `ctx.context` for all tasks of an application:
 *
 *     declare module "posthaste" {
 *       interface Register { context: { db: Pool } }
 *     }
 */
// eslint-disable-next-line typescript/no-empty-object-type -- to be merged with the application's declaration
export interface Register {}

/** The type of `posthaste({ context })`; unknown until it is registered. */
export type WorkerContext = Register extends { readonly context: infer Context }
  ? Context
  : unknown;

/** A transaction that commits together with the task's completion, so its writes happen exactly once. A client of `pg`. */
export interface TaskTransaction extends CallersTransaction {
  // eslint-disable-next-line typescript/no-unnecessary-type-parameters -- only the author of the statement knows the row type
  query<Row extends object = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: Row[]; readonly rowCount: number | null }>;
}

export interface TaskContext {
  readonly taskId: string;
  readonly name: string;
  readonly queue: string;
  /** 1 for the first handler that ran. */
  readonly attempt: number;
  readonly workerId: string;
  /** Names this claim of the task; a worker that lost it holds an older one. */
  readonly claimId: string;
  /**
   * Aborts when the task is cancelled, when `timeoutMs` has passed, when this attempt has lost its claim, and when the
   * worker's grace period for stopping is over. Its reason is a `TaskAborted`. An error thrown after the last of these
   * requeues the task for another worker and costs no retry.
   */
  readonly signal: AbortSignal;
  /** Which node of which run the task is; undefined for a task that is none. */
  readonly workflow: NodeContext | undefined;
  /** Every line carries the task and the attempt: `ctx.log.info({ rows: 12 }, "imported")`, or the text first. */
  readonly log: Logger;
  /** The value of `posthaste({ context })` for this worker. */
  readonly context: WorkerContext;
  /**
   * Reports progress, for `handle.progress()`. Never waits: at most four reports a second are written, and the last one always is. Throws
   * if the value cannot be stored as JSON.
   */
  progress(value: Json): void;
  /**
   * Runs the writes of `run` and the completion of this task in one commit: both happen, or neither. If the claim was lost
   * or the task cancelled, everything is rolled back and `TaskAborted` is thrown. The return value of `run` is the task's value;
   * a `fail(…)` rolls back and is returned. Use it as the last step of a handler:
   *
   *     return ctx.transaction(async (tx) => {
   *       await tx.query("update accounts set balance = balance - $1 where id = $2", [amount, id]);
   *       return { charged: amount };
   *     });
   */
  transaction<Value>(run: (tx: TaskTransaction) => Promise<Value>): Promise<Value>;
  /**
   * Completes this task inside a transaction of your own, as its last statement: when that commits, the task is done.
   * Throws `TaskAborted` if the claim was lost or the task cancelled: roll back then.
   */
  complete<Value>(value: Value, options: { readonly tx: CallersTransaction }): Promise<Value>;
  /** Sends another task, unless this attempt has lost its claim: then nothing is sent and `TaskAborted` is thrown. */
  send<T extends AnyContract>(
    task: T,
    ...args: SendArguments<T, SendOptions>
  ): Promise<TaskHandle<T>>;
}
