/** One call of a blocking task, from the line to its end. */
import type { Logger } from "../../domain/logger.ts";
import type { TaskFailure } from "../../domain/result.ts";
import type { AbortReason } from "../../domain/task-aborted.ts";
import type { Execution } from "../execute-task.ts";
import type { AttemptFacts, BodyMessage } from "./messages.ts";

export interface BlockingCall {
  /** The task's name in the app. */
  readonly task: string;
  /** JSON text, as it was stored. */
  readonly input: string;
  readonly facts: AttemptFacts;
  /** The most bytes of JSON that a value may take; null: as many as PostgreSQL stores. */
  readonly resultLimit: number | null;
  /** The body is about to begin: until then the call has waited for a thread, or for its file. */
  readonly onBegin: () => void;
  /** Lines of `ctx.log` arrive here, while the body runs. */
  readonly log: Logger;
  /** Other messages of the body arrive here, while it runs. */
  readonly onMessage: (message: BodyMessage) => void;
}

export interface BlockingRun {
  /** How it ended. Never rejects. */
  readonly ended: Promise<Execution>;
  /** Aborts `ctx.signal` in the thread with `TaskAborted(reason)`; a call that still waits begins with it. */
  abort(reason: AbortReason): void;
  /** Ends the thread in the middle of whatever it does, and the call with this failure. */
  terminate(failure: TaskFailure): void;
}

/** Who has the call: its thread, or the line. */
export interface Holder {
  abort(reason: AbortReason): void;
  terminate(run: ThreadRun, failure: TaskFailure): void;
}

export class ThreadRun implements BlockingRun {
  readonly call: BlockingCall;
  readonly ended: Promise<Execution>;
  /** The first reason counts, as with any signal. */
  abortReason: AbortReason | undefined;
  holder: Holder | undefined;
  #resolve: ((execution: Execution) => void) | undefined;

  constructor(call: BlockingCall) {
    this.call = call;
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  abort(reason: AbortReason): void {
    if (this.abortReason !== undefined) return;
    this.abortReason = reason;
    this.holder?.abort(reason);
  }

  terminate(failure: TaskFailure): void {
    this.holder?.terminate(this, failure);
  }

  end(execution: Execution): void {
    this.holder = undefined;
    this.#resolve?.(execution);
  }
}
