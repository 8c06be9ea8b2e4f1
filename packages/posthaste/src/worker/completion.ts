/** Whether, and how, a body has completed its task by itself, in one commit with what it wrote. */
import type { CallersTransaction } from "../define/send-options.ts";
import type { AnyTask } from "../define/task.ts";
import type { TaskTransaction } from "../define/task-context.ts";
import { TaskAborted, type AbortReason } from "../domain/task-aborted.ts";
import type { Claim } from "../store/queries/complete-with-effects.ts";
import {
  completeInCallersTransaction,
  completeInTransaction,
  type CompletingRun,
} from "./complete-with-effects.ts";
import type { BodyServices } from "./run-services.ts";

/** Done for certain, or in the hands of the user's own transaction. */
export type CompletionState = "none" | "handed over" | "done";

export interface CompletionOptions {
  readonly claim: Claim;
  readonly isNode: boolean;
  readonly task: AnyTask;
  readonly services: BodyServices;
  /** Why the attempt may do nothing more, if it may not. */
  readonly abortReason: () => AbortReason | undefined;
  readonly onChange: (state: CompletionState) => void;
}

export class Completion {
  readonly #options: CompletionOptions;
  readonly #run: CompletingRun;
  #state: CompletionState = "none";

  constructor(options: CompletionOptions) {
    const { claim, isNode, task, services } = options;
    this.#options = options;
    this.#run = {
      claim,
      isNode,
      task,
      database: services.database,
      resultLimit: services.payload.rejectBytes,
      checkAborted: () => this.#check(),
    };
  }

  async transaction<Value>(use: (tx: TaskTransaction) => Promise<Value>): Promise<Value> {
    const { value, isDone } = await completeInTransaction(this.#run, use);
    if (isDone) this.#set("done");
    return value;
  }

  async complete(value: unknown, tx: CallersTransaction): Promise<void> {
    await completeInCallersTransaction(this.#run, value, tx);
    this.#set("handed over");
  }

  #set(state: CompletionState): void {
    this.#state = state;
    this.#options.onChange(state);
  }

  #check(): void {
    const reason = this.#options.abortReason();
    if (reason !== undefined) throw new TaskAborted(reason);
    if (this.#state === "none") return;
    throw new Error(
      "this task is complete already: ctx.transaction() or ctx.complete() has done it",
    );
  }
}
