/** The thread's side: runs calls one at a time and reports how each ended. */
import { receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import type { Database } from "../../../database/database.ts";
import type { SendOptions } from "../../../define/send-options.ts";
import type { WorkerContext } from "../../../define/task-context.ts";
import type { TaskHandle } from "../../../define/task-handle.ts";
import type { AnyContract, AnyTask } from "../../../define/task.ts";
import type { Logger } from "../../../domain/logger.ts";
import { TaskAborted, type AbortReason } from "../../../domain/task-aborted.ts";
import { nextTurn } from "../../../runtime/pause.ts";
import type { Claim } from "../../../store/queries/claim/stored-claims.ts";
import { AttemptContext, type HandlerHost } from "../attempt-context.ts";
import type { HandlerServices } from "../attempt-services.ts";
import { Completion } from "../completion.ts";
import { executeTask, thrownFailure, type Execution } from "../execute-task.ts";
import { serializeError } from "../serialize-error.ts";
import { runAttributed, watchUncaughtErrors, type Attributed } from "../uncaught-errors.ts";
import { forwardingLogger } from "./forwarding-logger.ts";
import type { AttemptFacts, HandlerMessage, FromThread, ToThread } from "./messages.ts";
import { PolledSignal } from "./polled-signal.ts";
import { loadFailure } from "./thread-death.ts";

/** A task that the thread found in its app, and the services for its handler. */
export interface FoundTask {
  readonly task: AnyTask;
  /** Makes them when first asked. */
  readonly services: () => Promise<HandlerServices>;
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
  /** Reads the messages that were posted before the flag was raised, without waiting for the event loop. */
  const poll = (): void => {
    if (Atomics.exchange(flag, 0, 0) === 0) return;
    for (;;) {
      const received: { message: ToThread } | undefined = receiveMessageOnPort(side.port);
      if (received === undefined) return;
      hear(received.message);
    }
  };
  side.port.on("message", hear);
  watchUncaughtErrors(async () => undefined);
}

class ThreadCall implements Attributed, HandlerHost {
  readonly #side: ThreadSide;
  readonly #facts: AttemptFacts;
  readonly #polled: PolledSignal;
  readonly log: Logger;
  #task: AnyTask | undefined;
  #services: HandlerServices | undefined;
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
      // Attributed to the task: making the context may use the app.
      this.#services = await runAttributed(this, services, undefined);
    } catch (error) {
      // The next call gets a new thread, which loads the file again.
      this.#say({ kind: "spent" });
      const { message } = serializeError(error);
      return this.#end(loadFailure(this.#side.file, message, error));
    }
    this.#say({ kind: "began" });
    const { queue, attempt, workerId, node } = this.#facts;
    const facts = { ...this.#claim(), name, queue, attemptNo: attempt, node };
    const context = new AttemptContext(facts, workerId, this);
    const call = { task: this.#task, name, input, context, resultLimit };
    const execution = await runAttributed(this, executeTask, call);
    await nextTurn(); // uncaught errors of the handler arrive in the next turn
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

  async send(
    task: AnyContract,
    input: unknown,
    options: SendOptions | undefined,
  ): Promise<TaskHandle> {
    const reason = this.#abortReason();
    if (reason !== undefined) throw new TaskAborted(reason);
    return this.#need(this.#services).sendChild(this.#claim(), task, input, options);
  }

  get completion(): Completion {
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
    if (part === undefined) throw new Error("the handler has not started");
    return part;
  }

  /** An uncaught error of the handler: this thread takes no further call. */
  attribute(thrown: unknown): void {
    this.#say({ kind: "spent" });
    if (this.#hasEnded) {
      this.log.error(
        {
          worker: this.#facts.workerId,
          task: this.#facts.taskId,
          name: this.#facts.name,
          attempt: this.#facts.attempt,
          error: serializeError(thrown).message,
        },
        "unawaited promise or callback failed after the task ended; the result of the task stays",
      );
    } else {
      // At once: the handler may wait for the promise that failed.
      this.#end({ ran: true, ok: false, error: thrownFailure(thrown) });
    }
  }

  #end(execution: Execution): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#say({ kind: "ended", execution });
  }

  #tell(value: HandlerMessage): void {
    this.#say({ kind: "message", claimId: this.#facts.claimId, value });
  }

  #say(message: FromThread): void {
    this.#side.port.postMessage(message);
  }
}
