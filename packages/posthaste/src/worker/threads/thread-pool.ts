/**
 * Threads for blocking tasks: opened when a call needs one, never more than asked for, and closed again after a while
 * without work. A thread that dies takes its own call with it and nothing else; the next call opens another.
 */
import { fileURLToPath } from "node:url";
import type { ResultCode } from "../../domain/errors.ts";
import type { Logger } from "../../domain/logger.ts";
import type { TaskFailure } from "../../domain/result.ts";
import { describeError } from "../describe-error.ts";
import { heapLimitMb } from "./heap-limit.ts";
import { PoolThread, type ThreadProgram } from "./pool-thread.ts";
import { loadFailure } from "./thread-death.ts";
import { ThreadRun, type BlockingCall, type BlockingRun } from "./thread-run.ts";

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
  /** Told to end, and not gone yet. */
  readonly #leaving = new Set<PoolThread>();
  /** The one used last comes first, so that those not needed grow old. */
  readonly #idle: PoolThread[] = [];
  readonly #retirements = new Map<PoolThread, NodeJS.Timeout>();
  readonly #waiting = new Set<ThreadRun>();
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
  run(call: BlockingCall): BlockingRun {
    const run = new ThreadRun(call);
    if (this.#isClosed) {
      run.end({ ran: false, ok: false, error: CLOSED });
      return run;
    }
    run.holder = {
      abort: () => undefined, // the run remembers the reason until it begins
      terminate: (waiting, error) => this.#drop(waiting, error),
    };
    this.#waiting.add(run);
    this.#serve();
    return run;
  }

  /** Ends every thread, at work or idle, and every call. Resolves when no thread is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const run of this.#waiting) this.#drop(run, CLOSED);
    await Promise.all([...this.#threads, ...this.#leaving].map((thread) => thread.close(CLOSED)));
  }

  #drop(run: ThreadRun, error: TaskFailure): void {
    this.#waiting.delete(run);
    run.end({ ran: false, ok: false, error });
  }

  #serve(): void {
    for (const run of this.#waiting) {
      if (this.#idle.length === 0 && this.#threads.size >= this.#options.threads) return;
      this.#waiting.delete(run);
      try {
        const thread = this.#idle.pop() ?? this.#open();
        clearTimeout(this.#retirements.get(thread));
        thread.take(run);
      } catch (error) {
        // Node refuses to make a thread, for instance with the options the process was started with.
        const file = fileURLToPath(this.#options.program.file);
        run.end(loadFailure(file, describeError(error).message, error));
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
