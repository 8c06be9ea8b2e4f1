/** One call of a blocking task, from waiting for a thread to its end. */
import type { Logger } from "../../../domain/logger.ts";
import type { TaskFailure } from "../../../domain/result.ts";
import type { AbortReason } from "../../../domain/task-aborted.ts";
import type { Execution } from "../execute-task.ts";
import type { AttemptFacts, HandlerMessage } from "./messages.ts";

export interface BlockingCall {
  /** The task's name in the app. */
  readonly task: string;
  /** JSON text, as it was stored. */
  readonly input: string;
  readonly facts: AttemptFacts;
  /** The most bytes of JSON that a value may take; null: as many as PostgreSQL stores. */
  readonly resultLimit: number | null;
  /** The handler is about to start: the thread and its file are loaded. */
  readonly onBegin: () => void;
  /** Lines of `ctx.log` arrive here, while the handler runs. */
  readonly log: Logger;
  /** Other messages of the handler arrive here, while it runs. */
  readonly onMessage: (message: HandlerMessage) => void;
}

export interface BlockingAttempt {
  /** How it ended. Never rejects. */
  readonly ended: Promise<Execution>;
  /** Aborts `ctx.signal` in the thread with `TaskAborted(reason)`; a call that still waits begins with it. */
  abort(reason: AbortReason): void;
  /** Ends the thread at once, and the call with this failure. */
  terminate(failure: TaskFailure): void;
}

/** Holds the call: a thread, or the list of waiting calls. */
export interface Holder {
  abort(reason: AbortReason): void;
  terminate(attempt: ThreadAttempt, failure: TaskFailure): void;
}

export class ThreadAttempt implements BlockingAttempt {
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
