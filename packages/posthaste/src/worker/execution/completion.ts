/** Whether a handler has completed its task itself, in one commit with its writes. */
import type { CallersTransaction } from "../../define/send-options.ts";
import type { TaskTransaction } from "../../define/task-context.ts";
import type { AnyTask } from "../../define/task.ts";
import { TaskAborted, type AbortReason } from "../../domain/task-aborted.ts";
import type { Claim } from "../../store/queries/claim/stored-claims.ts";
import type { HandlerServices } from "./attempt-services.ts";
import {
  completeInCallersTransaction,
  completeInTransaction,
  type CompletingAttempt,
} from "./complete-with-effects.ts";

/** `done`: committed. `handed over`: the user's own transaction decides. */
export type CompletionState = "none" | "handed over" | "done";

export interface CompletionOptions {
  readonly claim: Claim;
  readonly isNode: boolean;
  readonly task: AnyTask;
  readonly services: HandlerServices;
  /** Why the attempt may use `ctx` no longer, if so. */
  readonly abortReason: () => AbortReason | undefined;
  readonly onChange: (state: CompletionState) => void;
}

export class Completion {
  readonly #options: CompletionOptions;
  readonly #attempt: CompletingAttempt;
  #state: CompletionState = "none";

  constructor(options: CompletionOptions) {
    const { claim, isNode, task, services } = options;
    this.#options = options;
    this.#attempt = {
      claim,
      isNode,
      task,
      database: services.database,
      resultLimit: services.payload.rejectBytes,
      checkAborted: () => this.#check(),
    };
  }

  async transaction<Value>(use: (tx: TaskTransaction) => Promise<Value>): Promise<Value> {
    const { value, isDone } = await completeInTransaction(this.#attempt, use);
    if (isDone) this.#set("done");
    return value;
  }

  async complete(value: unknown, tx: CallersTransaction): Promise<void> {
    await completeInCallersTransaction(this.#attempt, value, tx);
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
      "this task is already complete: ctx.transaction() or ctx.complete() completed it",
    );
  }
}
