/**
 * Threads for blocking tasks. The pool starts a thread when a call needs one, up to its limit, and ends it after a while without calls.
 * A thread that dies fails only its own call; the next call starts another.
 */
import { fileURLToPath } from "node:url";
import type { ResultCode } from "../../../domain/errors.ts";
import type { Logger } from "../../../domain/logger.ts";
import type { TaskFailure } from "../../../domain/result.ts";
import { serializeError } from "../serialize-error.ts";
import { heapLimitMb } from "./heap-limit.ts";
import { PoolThread, type ThreadProgram } from "./pool-thread.ts";
import { ThreadAttempt, type BlockingCall, type BlockingAttempt } from "./thread-attempt.ts";
import { loadFailure } from "./thread-death.ts";

export interface ThreadPoolOptions {
  readonly program: ThreadProgram;
  /** The most threads there may be at a time. */
  readonly threads: number;
  readonly log: Logger;
  /** How long a thread without work is kept. Default 10,000: a new one costs loading the app's file again. */
  readonly idleMs?: number;
  readonly heapLimitMb?: number;
}

const DEFAULT_IDLE_MS = 10_000;

const CLOSED: TaskFailure = {
  code: "UNHANDLED_ERROR" satisfies ResultCode,
  message: "the worker's threads were closed before the task had ended",
};

export class ThreadPool {
  readonly #options: ThreadPoolOptions;
  readonly #heapLimitMb: number;
  readonly #threads = new Set<PoolThread>();
  /** Told to end, and not exited yet. */
  readonly #leaving = new Set<PoolThread>();
  /** The thread used last comes first, so that unused threads reach their idle limit. */
  readonly #idle: PoolThread[] = [];
  readonly #retirements = new Map<PoolThread, NodeJS.Timeout>();
  readonly #waiting = new Set<ThreadAttempt>();
  #isClosed = false;

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
    this.#heapLimitMb =
      options.heapLimitMb ?? heapLimitMb(process.execArgv, process.env["NODE_OPTIONS"]);
  }

  /** How many threads there are, at work or idle. */
  get size(): number {
    return this.#threads.size;
  }

  /** Runs a call as soon as a thread is free; calls begin in the order in which they came. */
  run(call: BlockingCall): BlockingAttempt {
    const attempt = new ThreadAttempt(call);
    if (this.#isClosed) {
      attempt.end({ ran: false, ok: false, error: CLOSED });
      return attempt;
    }
    attempt.holder = {
      abort: () => undefined, // the attempt remembers the reason until it begins
      terminate: (waiting, error) => this.#drop(waiting, error),
    };
    this.#waiting.add(attempt);
    this.#serve();
    return attempt;
  }

  /** Ends every thread, at work or idle, and every call. Resolves when no thread is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const attempt of this.#waiting) this.#drop(attempt, CLOSED);
    await Promise.all([...this.#threads, ...this.#leaving].map((thread) => thread.close(CLOSED)));
  }

  #drop(attempt: ThreadAttempt, error: TaskFailure): void {
    this.#waiting.delete(attempt);
    attempt.end({ ran: false, ok: false, error });
  }

  #serve(): void {
    for (const attempt of this.#waiting) {
      if (this.#idle.length === 0 && this.#threads.size >= this.#options.threads) return;
      this.#waiting.delete(attempt);
      try {
        const thread = this.#idle.pop() ?? this.#open();
        clearTimeout(this.#retirements.get(thread));
        thread.take(attempt);
      } catch (error) {
        // Node refuses to make a thread, for instance with the options the process was started with.
        const file = fileURLToPath(this.#options.program.file);
        attempt.end(loadFailure(file, serializeError(error).message, error));
      }
    }
  }

  #open(): PoolThread {
    const { program, log } = this.#options;
    const thread = new PoolThread({
      program,
      log,
      heapLimitMb: this.#heapLimitMb,
      onFree: (free) => this.#freed(free),
      onLeave: (left) => this.#left(left),
      onGone: (gone) => this.#leaving.delete(gone),
    });
    this.#threads.add(thread);
    return thread;
  }

  #freed(thread: PoolThread): void {
    if (this.#isClosed) return;
    const { idleMs = DEFAULT_IDLE_MS } = this.#options;
    const retire = setTimeout(() => void thread.close(CLOSED), idleMs);
    this.#retirements.set(thread, retire.unref());
    this.#idle.push(thread);
    this.#serve();
  }

  #left(thread: PoolThread): void {
    clearTimeout(this.#retirements.get(thread));
    this.#retirements.delete(thread);
    this.#threads.delete(thread);
    this.#leaving.add(thread);
    const place = this.#idle.indexOf(thread);
    if (place >= 0) this.#idle.splice(place, 1);
    if (!this.#isClosed) this.#serve();
  }
}
