/** Between traced-run.ts and the processes that it starts. */

/** `begin` and `end` a trace; send a task, or start a workflow of two nodes, and wait for its result. */
export type Order = "begin" | "task" | "chain" | "end";

/** Since `begin`, in order. */
export interface Trace {
  /** Numbers of functions, see traced-copy.ts, and the marks below. */
  readonly calls: readonly number[];
  readonly sqlCalls: readonly SqlCall[];
  /** From `begin` to the last call. */
  readonly tookMs: number;
}

/** A function in SQL. */
export interface SqlCall {
  readonly name: string;
  /** How many calls came before its statement, or before the commit of its transaction. */
  readonly at: number;
}

export type Answer = Trace | { readonly error: string };

/** Marks among the calls. */
export const HANDLER_STARTS = -1;
export const HANDLER_ENDS = -2;
/** `send` has returned the handle. */
export const SENT = -3;
