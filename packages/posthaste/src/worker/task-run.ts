/** One run of one task: its context, its signal, and how it ends. */
import type { AnyTask } from "../define/task.ts";
import type { TaskContext } from "../define/task-context.ts";
import { childLogger } from "../domain/child-logger.ts";
import type { Logger } from "../domain/logger.ts";
import { isRecord } from "../domain/option-reader.ts";
import { parseRetryPolicy, type RetryPolicy } from "../domain/retry.ts";
import { settle } from "../domain/task-lifecycle.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import { describeError } from "./describe-error.ts";
import { executeTask, thrownFailure, type Execution } from "./execute-task.ts";
import type { EndedTask } from "./held-tasks.ts";
import { runBlamed } from "./stray-errors.ts";
import type { ThreadPool } from "./threads/thread-pool.ts";
import type { BlockingCall, BlockingRun } from "./threads/thread-run.ts";

/** Why `ctx.signal` aborted. */
export type AbortReason = "CLAIM_LOST" | "SHUTDOWN";

export class TaskAborted extends Error {
  override readonly name = "TaskAborted";
  readonly reason: AbortReason;

  constructor(reason: AbortReason) {
    super(
      reason === "SHUTDOWN"
        ? "the worker is shutting down and its grace period is over"
        : "this attempt lost its claim: its result will not be stored",
    );
    this.reason = reason;
  }
}

export class TaskRun {
  readonly claimed: ClaimedTask;
  readonly #task: AnyTask | undefined;
  readonly #workerId: string;
  readonly #log: Logger;
  #abort: AbortController | undefined;
  #onThread: BlockingRun | undefined;
  #stray: { readonly thrown: unknown } | undefined;
  #ended = false;

  constructor(claimed: ClaimedTask, task: AnyTask | undefined, workerId: string, log: Logger) {
    this.claimed = claimed;
    this.#task = task;
    this.#workerId = workerId;
    this.#log = log;
  }

  /** Runs the body to its end, which may be at once, and then says how to settle it. */
  run(onEnd: (run: TaskRun, ended: EndedTask) => void, threads?: ThreadPool): void {
    const { name, input } = this.claimed;
    if (threads !== undefined && this.#task?.blocking === true) {
      this.#onThread = threads.run(this.#blockingCall());
      void this.#onThread.ended.then((execution) => onEnd(this, this.#end(execution)));
      return;
    }
    const execution = runBlamed(this, executeTask, {
      task: this.#task,
      name,
      input,
      context: new RunContext(this, this.#workerId),
    });
    if (execution instanceof Promise) void execution.then((late) => onEnd(this, this.#end(late)));
    else onEnd(this, this.#end(execution));
  }

  #blockingCall(): BlockingCall {
    const { id, claimId, name, queue, runNo, input } = this.claimed;
    const facts = { taskId: id, name, queue, attempt: runNo, workerId: this.#workerId, claimId };
    return { task: name, input, facts, log: this.log, onMessage: () => undefined };
  }

  #end(execution: Execution): EndedTask {
    this.#ended = true;
    const stray = this.#stray;
    return this.#settled(
      stray === undefined
        ? execution
        : { ran: true, ok: false, error: thrownFailure(stray.thrown) },
    );
  }

  get signal(): AbortSignal {
    return this.#controller().signal;
  }

  get log(): Logger {
    const { id, name, runNo } = this.claimed;
    return childLogger(this.#log, { taskId: id, task: name, attempt: runNo });
  }

  get isAborted(): boolean {
    return this.#abort?.signal.aborted ?? false;
  }

  abort(reason: AbortReason): void {
    this.#controller().abort(new TaskAborted(reason));
    this.#onThread?.abort(reason);
  }

  /** Something the body let go of has failed: the task fails with it, unless it has ended. */
  blame(thrown: unknown): void {
    const { id, name, runNo } = this.claimed;
    const late = this.#ended
      ? "after the task had ended; its result stands"
      : "the task will fail with it";
    this.#log.error(
      { taskId: id, task: name, attempt: runNo, error: describeError(thrown).message },
      `a promise or callback that the task did not wait for failed: ${late}`,
    );
    this.#stray ??= { thrown };
  }

  #settled(execution: Execution): EndedTask {
    const { id, claimId, queue, priority, retryCount } = this.claimed;
    const { ran } = execution;
    if (execution.ok) {
      return { id, claimId, queue, priority, edge: "succeed", ran, result: execution.value };
    }
    const { error } = execution;
    const settlement = settle(
      { retry: this.#retry(), retryCount },
      { ok: false, error },
      Math.random(),
    );
    return {
      id,
      claimId,
      queue,
      priority,
      edge: settlement.edge,
      ran,
      error: JSON.stringify(error),
      code: error.code,
      ...(settlement.edge === "retry" ? { delayMs: settlement.delayMs } : {}),
    };
  }

  /** What was sent decides; a task that was sent without any policy takes this worker's. */
  #retry(): RetryPolicy | null {
    const { options } = this.claimed;
    if (options === null) return this.#task?.retry ?? null;
    // A row that was sent by SQL may hold anything there.
    const stored: unknown = JSON.parse(options);
    return isRecord(stored) ? parseRetryPolicy(stored["retry"]) : null;
  }

  #controller(): AbortController {
    return (this.#abort ??= new AbortController());
  }
}

/** A class, so that the signal and the logger are made when asked for: most bodies look at neither. */
class RunContext implements TaskContext {
  readonly taskId: string;
  readonly name: string;
  readonly queue: string;
  readonly attempt: number;
  readonly workerId: string;
  readonly claimId: string;
  readonly #run: TaskRun;
  #log: Logger | undefined;

  constructor(run: TaskRun, workerId: string) {
    const { id, claimId, name, queue, runNo } = run.claimed;
    this.taskId = id;
    this.name = name;
    this.queue = queue;
    this.attempt = runNo;
    this.workerId = workerId;
    this.claimId = claimId;
    this.#run = run;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get log(): Logger {
    return (this.#log ??= this.#run.log);
  }
}
