/** The thread's side: runs the calls it is sent, one at a time, and says how each ended. */
import { receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import type { CallersTransaction, SendOptions } from "../../define/send-options.ts";
import type { AnyContract, AnyTask } from "../../define/task.ts";
import type { TaskTransaction, WorkerContext } from "../../define/task-context.ts";
import type { TaskHandle } from "../../define/task-handle.ts";
import type { Logger } from "../../domain/logger.ts";
import type { Database } from "../../engine/database.ts";
import { TaskAborted, type AbortReason } from "../../domain/task-aborted.ts";
import { nextTurn } from "../../runtime/pause.ts";
import type { Claim } from "../../store/queries/complete-with-effects.ts";
import { Completion } from "../completion.ts";
import { describeError } from "../describe-error.ts";
import { executeTask, thrownFailure, type Execution } from "../execute-task.ts";
import { RunContext, type BodyHost } from "../run-context.ts";
import type { BodyServices } from "../run-services.ts";
import { runBlamed, watchStrayErrors, type Blamed } from "../stray-errors.ts";
import { forwardingLogger } from "./forwarding-logger.ts";
import type { AttemptFacts, BodyMessage, FromThread, ToThread } from "./messages.ts";
import { PolledSignal } from "./polled-signal.ts";
import { loadFailure } from "./thread-death.ts";

/** A task as a thread found it, and what its app offers to bodies there. */
export interface FoundTask {
  readonly task: AnyTask;
  /** Makes them when first asked. */
  readonly services: () => Promise<BodyServices>;
}

export interface ThreadSide {
  readonly port: MessagePort;
  readonly abortFlag: SharedArrayBuffer;
  /** The file that `findTask` loads, as people write it. */
  readonly file: string;
  /** Rejects with an error that says why there is no such task. */
  readonly findTask: (name: string) => Promise<FoundTask>;
}

export function serveCalls(side: ThreadSide): void {
  const flag = new Int32Array(side.abortFlag);
  let current: ThreadCall | undefined;

  const hear = (message: ToThread): void => {
    if (message.kind === "abort") current?.abort(message.reason);
    else {
      current = new ThreadCall(side, message.facts, poll);
      void current.run(message);
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
  watchStrayErrors(async () => undefined);
}

class ThreadCall implements Blamed, BodyHost {
  readonly #side: ThreadSide;
  readonly #facts: AttemptFacts;
  readonly #polled: PolledSignal;
  readonly log: Logger;
  #task: AnyTask | undefined;
  #services: BodyServices | undefined;
  #completion: Completion | undefined;
  #hasEnded = false;

  constructor(side: ThreadSide, facts: AttemptFacts, poll: () => void) {
    this.#side = side;
    this.#facts = facts;
    this.#polled = new PolledSignal(poll);
    this.log = forwardingLogger(facts, (line) => this.#say(line));
  }

  async run({ task: name, input, resultLimit }: ToThread & { kind: "run" }): Promise<void> {
    try {
      const { task, services } = await this.#side.findTask(name);
      this.#task = task;
      // On behalf of the task: a context may be made with the help of its app.
      this.#services = await runBlamed(this, services, undefined);
    } catch (error) {
      // The next call gets a new thread, which loads the file as it is by then.
      this.#say({ kind: "spent" });
      const { message } = describeError(error);
      return this.#end(loadFailure(this.#side.file, message, error));
    }
    this.#say({ kind: "began" });
    const { queue, attempt, workerId, node } = this.#facts;
    const facts = { ...this.#claim(), name, queue, attemptNo: attempt, node };
    const context = new RunContext(facts, workerId, this);
    const call = { task: this.#task, name, input, context, resultLimit };
    const execution = await runBlamed(this, executeTask, call);
    await nextTurn(); // what the body has let go of, and has failed by now, is known then
    this.#end(execution);
  }

  abort(reason: AbortReason): void {
    this.#polled.abort(new TaskAborted(reason));
  }

  get signal(): AbortSignal {
    return this.#polled.signal;
  }

  get context(): WorkerContext {
    return this.#need(this.#services).context;
  }

  get database(): Database {
    return this.#need(this.#services).database;
  }

  report(progress: string): void {
    if (!this.#hasEnded) this.#tell({ progress });
  }

  transaction<Value>(use: (tx: TaskTransaction) => Promise<Value>): Promise<Value> {
    return this.#completing().transaction(use);
  }

  complete(value: unknown, tx: CallersTransaction): Promise<void> {
    return this.#completing().complete(value, tx);
  }

  async send(
    task: AnyContract,
    input: unknown,
    options: SendOptions | undefined,
  ): Promise<TaskHandle> {
    const reason = this.#abortReason();
    if (reason !== undefined) throw new TaskAborted(reason);
    return this.#need(this.#services).sendChild(this.#claim(), task, input, options);
  }

  #completing(): Completion {
    return (this.#completion ??= new Completion({
      claim: this.#claim(),
      isNode: this.#facts.node !== undefined,
      task: this.#need(this.#task),
      services: this.#need(this.#services),
      abortReason: () => this.#abortReason(),
      onChange: (completed) => this.#tell({ completed }),
    }));
  }

  #abortReason(): AbortReason | undefined {
    const { aborted, reason } = this.signal;
    return aborted && reason instanceof TaskAborted ? reason.reason : undefined;
  }

  #claim(): Claim {
    return { id: this.#facts.taskId, claimId: this.#facts.claimId };
  }

  #need<Part>(part: Part | undefined): Part {
    if (part === undefined) throw new Error("the body has not begun");
    return part;
  }

  /** Something the body let go of has failed. Nothing else will run where it did. */
  blame(thrown: unknown): void {
    this.#say({ kind: "spent" });
    if (this.#hasEnded) {
      this.log.error(
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

  #tell(value: BodyMessage): void {
    this.#say({ kind: "message", claimId: this.#facts.claimId, value });
  }

  #say(message: FromThread): void {
    this.#side.port.postMessage(message);
  }
}
