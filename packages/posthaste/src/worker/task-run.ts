/** One run of one task: its context, its signal, and how it ends. */
import type { AnyTask } from "../define/task.ts";
import type { TaskContext } from "../define/task-context.ts";
import { childLogger } from "../domain/child-logger.ts";
import type { Logger } from "../domain/logger.ts";
import { isRecord } from "../domain/option-reader.ts";
import { parseRetryPolicy, type RetryPolicy } from "../domain/retry.ts";
import { settle } from "../domain/task-lifecycle.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { SettledTask } from "../store/queries/settle-tasks.ts";
import { describeError } from "./describe-error.ts";
import { executeTask, thrownFailure, type Execution } from "./execute-task.ts";
import { runBlamed } from "./stray-errors.ts";

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
  #stray: { readonly thrown: unknown } | undefined;
  #ended = false;

  constructor(claimed: ClaimedTask, task: AnyTask | undefined, workerId: string, log: Logger) {
    this.claimed = claimed;
    this.#task = task;
    this.#workerId = workerId;
    this.#log = log;
  }

  /** Runs the body to its end and says how to settle it. Never rejects. */
  async run(): Promise<SettledTask> {
    const execution = await runBlamed(this, () =>
      executeTask({
        task: this.#task,
        name: this.claimed.name,
        input: this.claimed.input,
        context: this.#context(),
      }),
    );
    this.#ended = true;
    const stray = this.#stray;
    return this.#settled(
      stray === undefined
        ? execution
        : { ran: true, ok: false, error: thrownFailure(stray.thrown) },
    );
  }

  get isAborted(): boolean {
    return this.#abort?.signal.aborted ?? false;
  }

  abort(reason: AbortReason): void {
    this.#controller().abort(new TaskAborted(reason));
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

  #settled(execution: Execution): SettledTask {
    const { id, claimId, retryCount } = this.claimed;
    const { ran } = execution;
    if (execution.ok) return { id, claimId, edge: "succeed", ran, result: execution.value };
    const { error } = execution;
    const settlement = settle(
      { retry: this.#retry(), retryCount },
      { ok: false, error },
      Math.random(),
    );
    return {
      id,
      claimId,
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

  #context(): TaskContext {
    const { id, claimId, name, queue, runNo } = this.claimed;
    const signal = (): AbortSignal => this.#controller().signal;
    const log = (): Logger => childLogger(this.#log, { taskId: id, task: name, attempt: runNo });
    // Made when asked for: most bodies look at neither, and both cost more than the rest of the context.
    return {
      taskId: id,
      name,
      queue,
      attempt: runNo,
      workerId: this.#workerId,
      claimId,
      get signal() {
        return signal();
      },
      get log() {
        return log();
      },
    };
  }
}
