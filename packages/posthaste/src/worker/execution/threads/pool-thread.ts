/** One thread, seen from the main thread. It runs one call at a time. */
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { childLogger, type Logger } from "../../../domain/logger.ts";
import type { TaskFailure } from "../../../domain/result.ts";
import type { AbortReason } from "../../../domain/task-aborted.ts";
import { pause } from "../../../runtime/pause.ts";
import type { Execution } from "../execute-task.ts";
import { serializeError } from "../serialize-error.ts";
import type { FromThread, ThreadStart, ToThread } from "./messages.ts";
import type { Holder, ThreadAttempt } from "./thread-attempt.ts";
import { executionAfter } from "./thread-death.ts";

/** The program of a thread. */
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
  /** The thread takes no further call. Called once. */
  readonly onLeave: (thread: PoolThread) => void;
  /** The thread has exited. Called once, after `onLeave`. */
  readonly onGone: (thread: PoolThread) => void;
}

/** How long to wait for a thread that was told to end: a thread inside a native call does not end. */
const STUCK_MS = 1_000;

export class PoolThread implements Holder {
  readonly #options: PoolThreadOptions;
  readonly #worker: Worker;
  readonly #abortFlag = new SharedArrayBuffer(4);
  readonly #gone = new AbortController();
  #attempt: ThreadAttempt | undefined;
  /** The worker of the last call. */
  #workerId: string | undefined;
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

  take(attempt: ThreadAttempt): void {
    const { task, input, facts, resultLimit } = attempt.call;
    this.#attempt = attempt;
    this.#workerId = facts.workerId;
    this.#hasBegun = false;
    attempt.holder = this;
    this.#say({ kind: "run", task, input, facts, resultLimit });
    if (attempt.abortReason !== undefined) this.abort(attempt.abortReason);
  }

  abort(reason: AbortReason): void {
    this.#say({ kind: "abort", reason });
    // After the message: a thread that sees the flag must find the message.
    Atomics.store(new Int32Array(this.#abortFlag), 0, 1);
  }

  terminate(attempt: ThreadAttempt, error: TaskFailure): void {
    if (this.#attempt !== attempt) return;
    void this.#endThread({ ran: this.#hasBegun, ok: false, error });
  }

  /** Resolves when the thread is gone. A call that was running there ends with the failure. */
  async close(error: TaskFailure): Promise<void> {
    await this.#endThread({ ran: this.#hasBegun, ok: false, error });
  }

  async #endThread(execution?: Execution): Promise<void> {
    const attempt = this.#attempt;
    this.#attempt = undefined; // later messages of the thread must not end this call
    this.#leave();
    void this.#worker.terminate();
    await pause(STUCK_MS, this.#gone.signal);
    if (!this.#gone.signal.aborted) {
      (attempt?.call.log ?? this.#options.log).warn(
        "thread is inside a native call after its task ended; it exits when the call returns",
      );
    }
    if (execution !== undefined) attempt?.end(execution);
  }

  #hear(message: FromThread): void {
    switch (message.kind) {
      case "began":
        this.#hasBegun = true;
        this.#attempt?.call.onBegin();
        return;
      case "log":
        return this.#logLine(message);
      case "message":
        if (this.#holds(message.claimId)) this.#attempt?.call.onMessage(message.value);
        return;
      case "spent":
        this.#isSpent = true;
        if (this.#attempt === undefined) void this.#endThread();
        return;
      case "ended":
        this.#finish(message.execution);
    }
  }

  #finish(execution: Execution): void {
    const attempt = this.#attempt;
    this.#attempt = undefined;
    attempt?.end(execution);
    if (this.#isSpent) void this.#endThread();
    else if (attempt !== undefined) this.#options.onFree(this);
  }

  #logLine({ taskId, claimId, level, fields, message }: FromThread & { kind: "log" }): void {
    const call = this.#holds(claimId) ? this.#attempt?.call : undefined;
    // Code that a handler left running may still log.
    const log = call?.log ?? childLogger(this.#options.log, { task: taskId });
    log[level](fields, message);
  }

  #holds(claimId: string): boolean {
    return this.#attempt?.call.facts.claimId === claimId;
  }

  #died(exitCode: number): void {
    this.#gone.abort();
    const attempt = this.#attempt;
    this.#attempt = undefined;
    this.#leave();
    const { heapLimitMb, program, log, onGone } = this.#options;
    onGone(this);
    const file = fileURLToPath(program.file);
    const error = this.#lastError;
    attempt?.end(executionAfter({ hasBegun: this.#hasBegun, file, heapLimitMb, error, exitCode }));
    if (attempt === undefined && error !== undefined) {
      log.error(
        { worker: this.#workerId, error: serializeError(error).message },
        "idle thread failed and exited; the next blocking task starts another",
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
