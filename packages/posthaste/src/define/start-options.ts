import type { CallersTransaction } from "./send-options.ts";
import type { AnyWorkflow, WorkflowInputOf } from "./workflow.ts";

export interface StartOptions {
  /** Joins this transaction: the run, and the tasks of its first nodes, exist when it commits. */
  readonly tx?: CallersTransaction;
  /** One run per workflow and key: a second start returns the first run. The same key with another input is an error. */
  readonly key?: string;
  /** An id of your own (a uuid): repeating a start with the same id and input is the same run. */
  readonly id?: string;
}

/** The arguments of `start` after the workflow: the input may be left out where the workflow takes none. */
export type StartArguments<W extends AnyWorkflow> =
  undefined extends WorkflowInputOf<W>
    ? [input?: WorkflowInputOf<W>, options?: StartOptions]
    : [input: WorkflowInputOf<W>, options?: StartOptions];
