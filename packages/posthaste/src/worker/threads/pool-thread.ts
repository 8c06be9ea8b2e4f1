/** One thread, seen from the main one: it runs a call at a time until it is spent, told to end, or dead. */
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { childLogger, type Logger } from "../../domain/logger.ts";
import type { TaskFailure } from "../../domain/result.ts";
import type { AbortReason } from "../../domain/task-aborted.ts";
import { pause } from "../../runtime/pause.ts";
import { describeError } from "../describe-error.ts";
import type { Execution } from "../execute-task.ts";
import type { FromThread, ThreadStart, ToThread } from "./messages.ts";
import { executionAfter } from "./thread-death.ts";
import type { Holder, ThreadRun } from "./thread-run.ts";

/** What a thread runs. */
export interface ThreadProgram {
  /** The thread's own first module. */
  readonly entry: URL;
  /** The file that makes the app; the entry loads it. */
  readonly file: URL;
  /** Where the embedded server is, if the app uses that. Asked for each thread. */
  readonly embeddedUrl?: () => string | undefined;
}

export interface PoolThreadOptions {
  readonly program: ThreadProgram;
  readonly heapLimitMb: number;
  readonly log: Logger;
  /** The call has ended, and the thread may have another. */
  readonly onFree: (thread: PoolThread) => void;
  /** The thread takes no further call. Said once. */
  readonly onLeave: (thread: PoolThread) => void;
  /** Nothing is left of it. Said once, after `onLeave`. */
  readonly onGone: (thread: PoolThread) => void;
}

/** How long a thread that was told to end is waited for: nothing ends one that is inside a native call. */
const STUCK_MS = 1_000;

export class PoolThread implements Holder {
  readonly #options: PoolThreadOptions;
  readonly #worker: Worker;
  readonly #abortFlag = new SharedArrayBuffer(4);
  readonly #gone = new AbortController();
  #run: ThreadRun | undefined;
  #hasBegun = false;
  #isSpent = false;
  #hasLeft = false;
  #lastError: unknown;

  constructor(options: PoolThreadOptions) {
    this.#options = options;
    const { entry, file, embeddedUrl } = options.program;
    const abortFlag = this.#abortFlag;
    const start: ThreadStart = { file: file.href, embeddedUrl: embeddedUrl?.(), abortFlag };
    this.#worker = new Worker(entry, {
      workerData: start,
      name: "posthaste",
      resourceLimits: { maxOldGenerationSizeMb: options.heapLimitMb },
    });
    this.#worker.on("message", (message: FromThread) => this.#hear(message));
    this.#worker.on("error", (error: unknown) => (this.#lastError = error));
    this.#worker.on("exit", (exitCode) => this.#died(exitCode));
  }

  take(run: ThreadRun): void {
    const { task, input, facts, resultLimit } = run.call;
    this.#run = run;
    this.#hasBegun = false;
    run.holder = this;
    this.#say({ kind: "run", task, input, facts, resultLimit });
    if (run.abortReason !== undefined) this.abort(run.abortReason);
  }

  abort(reason: AbortReason): void {
    this.#say({ kind: "abort", reason });
    // After the message: whoever sees the flag finds it.
    Atomics.store(new Int32Array(this.#abortFlag), 0, 1);
  }

  terminate(run: ThreadRun, error: TaskFailure): void {
    if (this.#run !== run) return;
    void this.#endThread({ ran: this.#hasBegun, ok: false, error });
  }

  /** Resolves when the thread is gone. A call that was running there ends with the failure. */
  async close(error: TaskFailure): Promise<void> {
    await this.#endThread({ ran: this.#hasBegun, ok: false, error });
  }

  async #endThread(execution?: Execution): Promise<void> {
    const run = this.#run;
    this.#run = undefined; // what the thread still says or how it dies is not this call's end
    this.#leave();
    void this.#worker.terminate();
    await pause(STUCK_MS, this.#gone.signal);
    if (!this.#gone.signal.aborted) {
      this.#options.log.warn(
        { taskId: run?.call.facts.taskId, task: run?.call.task },
        "a thread is inside a native call and ends only when that returns; its task has ended",
      );
    }
    if (execution !== undefined) run?.end(execution);
  }

  #hear(message: FromThread): void {
    switch (message.kind) {
      case "began":
        this.#hasBegun = true;
        this.#run?.call.onBegin();
        return;
      case "log":
        return this.#logLine(message);
      case "message":
        if (this.#holds(message.claimId)) this.#run?.call.onMessage(message.value);
        return;
      case "spent":
        this.#isSpent = true;
        if (this.#run === undefined) void this.#endThread();
        return;
      case "ended":
        this.#finish(message.execution);
    }
  }

  #finish(execution: Execution): void {
    const run = this.#run;
    this.#run = undefined;
    run?.end(execution);
    if (this.#isSpent) void this.#endThread();
    else if (run !== undefined) this.#options.onFree(this);
  }

  #logLine({ taskId, claimId, level, fields, message }: FromThread & { kind: "log" }): void {
    const call = this.#holds(claimId) ? this.#run?.call : undefined;
    // What a body left running may log after its end.
    const log = call?.log ?? childLogger(this.#options.log, { task: taskId });
    log[level](fields, message);
  }

  #holds(claimId: string): boolean {
    return this.#run?.call.facts.claimId === claimId;
  }

  #died(exitCode: number): void {
    this.#gone.abort();
    const run = this.#run;
    this.#run = undefined;
    this.#leave();
    const { heapLimitMb, program, log, onGone } = this.#options;
    onGone(this);
    const file = fileURLToPath(program.file);
    const error = this.#lastError;
    run?.end(executionAfter({ hasBegun: this.#hasBegun, file, heapLimitMb, error, exitCode }));
    if (run === undefined && error !== undefined) {
      log.error(
        { error: describeError(error).message },
        "a thread without a task failed and is gone",
      );
    }
  }

  #leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#options.onLeave(this);
  }

  #say(message: ToThread): void {
    this.#worker.postMessage(message);
  }
}
