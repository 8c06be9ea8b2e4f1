/** The thread's side: runs the calls it is sent, one at a time, and says how each ended. */
import { receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import type { AnyTask } from "../../define/task.ts";
import { nextTurn } from "../../runtime/pause.ts";
import { describeError } from "../describe-error.ts";
import { executeTask, thrownFailure, type Execution } from "../execute-task.ts";
import { runBlamed, watchStrayErrors, type Blamed } from "../stray-errors.ts";
import { TaskAborted } from "../task-run.ts";
import type { CallFacts, FromThread, ToThread } from "./messages.ts";
import { PolledSignal } from "./polled-signal.ts";
import { loadFailure } from "./thread-death.ts";
import { ThreadContext } from "./thread-context.ts";

export interface ThreadSide {
  readonly port: MessagePort;
  readonly abortFlag: SharedArrayBuffer;
  /** The file that `findTask` loads, as people write it. */
  readonly file: string;
  /** Rejects with an error that says why there is no such task. */
  readonly findTask: (name: string) => Promise<AnyTask>;
}

export function serveCalls(side: ThreadSide): void {
  const flag = new Int32Array(side.abortFlag);
  let current: ThreadCall | undefined;

  const hear = (message: ToThread): void => {
    if (message.kind === "abort") current?.signal.abort(new TaskAborted(message.reason));
    else {
      current = new ThreadCall(side, message.facts, poll);
      void current.run(message.task, message.input);
    }
  };
  /** Takes what was posted before the flag was raised, without waiting for the event loop. */
  const poll = (): void => {
    if (Atomics.exchange(flag, 0, 0) === 0) return;
    for (;;) {
      const received: { message: ToThread } | undefined = receiveMessageOnPort(side.port);
      if (received === undefined) return;
      hear(received.message);
    }
  };
  side.port.on("message", hear);
  watchStrayErrors();
}

class ThreadCall implements Blamed {
  readonly signal: PolledSignal;
  readonly #side: ThreadSide;
  readonly #facts: CallFacts;
  readonly #context: ThreadContext;
  #hasEnded = false;

  constructor(side: ThreadSide, facts: CallFacts, poll: () => void) {
    this.#side = side;
    this.#facts = facts;
    this.signal = new PolledSignal(poll);
    this.#context = new ThreadContext(facts, this.signal.signal, (message) => this.#say(message));
  }

  async run(name: string, input: string): Promise<void> {
    let task: AnyTask;
    try {
      task = await this.#side.findTask(name);
    } catch (error) {
      // The next call gets a new thread, which loads the file as it is by then.
      this.#say({ kind: "spent" });
      const { message } = describeError(error);
      return this.#end(loadFailure(this.#side.file, message, error));
    }
    this.#say({ kind: "began" });
    const context = this.#context;
    const execution = await runBlamed(this, executeTask, { task, name, input, context });
    await nextTurn(); // what the body has let go of, and has failed by now, is known then
    this.#end(execution);
  }

  /** Something the body let go of has failed. Nothing else will run where it did. */
  blame(thrown: unknown): void {
    this.#say({ kind: "spent" });
    if (this.#hasEnded) {
      this.#context.log.error(
        {
          task: this.#facts.name,
          attempt: this.#facts.attempt,
          error: describeError(thrown).message,
        },
        "a promise or callback that the task did not wait for failed: after the task had ended; its result stands",
      );
    } else {
      // At once: the body may be waiting for what has just failed.
      this.#end({ ran: true, ok: false, error: thrownFailure(thrown) });
    }
  }

  #end(execution: Execution): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#say({ kind: "ended", execution });
  }

  #say(message: FromThread): void {
    this.#side.port.postMessage(message);
  }
}
