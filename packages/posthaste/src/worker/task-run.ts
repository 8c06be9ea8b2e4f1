/** One run of one task: its signal, its limits, and how it ends. */
import type { CallersTransaction, SendOptions } from "../define/send-options.ts";
import type { RunEndEvent } from "../define/hooks.ts";
import type { AnyContract, AnyTask } from "../define/task.ts";
import type { TaskTransaction, WorkerContext } from "../define/task-context.ts";
import type { TaskHandle } from "../define/task-handle.ts";
import { childLogger, type Logger } from "../domain/logger.ts";
import type { Database } from "../engine/database.ts";
import { TaskAborted, type AbortReason } from "../domain/task-aborted.ts";
import { Alarm } from "../runtime/alarm.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import { awaitCompletion, tellWaiters } from "./complete-with-effects.ts";
import { Completion, type CompletionState } from "./completion.ts";
import { readDecided, type Decided } from "./decided-options.ts";
import { describeError } from "./describe-error.ts";
import { executeTask, thrownFailure, type Execution } from "./execute-task.ts";
import type { EndedTask } from "./held-tasks.ts";
import { RunContext, type BodyHost } from "./run-context.ts";
import type { RunServices } from "./run-services.ts";
import { failureOf, interruptedTask, settledTask } from "./settled-task.ts";
import { attemptEvent, emitCompletion } from "./settlement/emit-attempt-events.ts";
import { runBlamed } from "./stray-errors.ts";
import type { BodyMessage } from "./threads/messages.ts";
import type { ThreadPool } from "./threads/thread-pool.ts";
import type { BlockingRun } from "./threads/thread-run.ts";

/** How long a body that has run out of time may take to notice. */
const NOTICE_MS = 500;

/** Undefined: the end is written already, or is not ours to write. */
export type OnEnd = (run: TaskRun, ended: EndedTask | undefined) => void;

export class TaskRun implements BodyHost {
  readonly claimed: ClaimedTask;
  readonly services: RunServices;
  readonly database: Database;
  readonly #task: AnyTask | undefined;
  readonly #decided: Decided;
  #alarm: Alarm | undefined;
  #onEnd: OnEnd | undefined;
  #abort: AbortController | undefined;
  #onThread: BlockingRun | undefined;
  #stray: { readonly thrown: unknown } | undefined;
  /** Why the body was told to stop, if it was. */
  #stopped: AbortReason | undefined;
  #completion: Completion | undefined;
  #completed: CompletionState = "none";
  #isOver = false;
  #beganAt: number;

  /** @param beganAt one moment for all that begin together: a look at the clock takes 0.3 µs on some machines */
  constructor(
    claimed: ClaimedTask,
    task: AnyTask | undefined,
    services: RunServices,
    beganAt = performance.now(),
  ) {
    this.#beganAt = beganAt;
    this.claimed = claimed;
    this.services = services;
    this.database = services.database;
    this.#task = task;
    this.#decided = readDecided(claimed.options, task);
  }

  /** Runs the body to its end, which may be at once, and then says how to settle it. */
  run(onEnd: OnEnd): void {
    this.#onEnd = onEnd;
    if (this.#task?.blocking === true && this.services.threads !== undefined) {
      this.#runOnThread(this.services.threads);
      return;
    }
    this.#startClock();
    const { name, input } = this.claimed;
    const execution = runBlamed(this, executeTask, {
      task: this.#task,
      name,
      input,
      context: new RunContext(this.claimed, this.services.workerId, this),
      resultLimit: this.services.payload.rejectBytes,
    });
    if (execution instanceof Promise) void execution.then((late) => this.#ended(late));
    else this.#ended(execution);
  }

  #runOnThread(threads: ThreadPool): void {
    const { id, claimId, name, queue, attemptNo, input, node } = this.claimed;
    const { workerId } = this.services;
    this.#onThread = threads.run({
      task: name,
      input,
      facts: { taskId: id, name, queue, attempt: attemptNo, workerId, claimId, node },
      resultLimit: this.services.payload.rejectBytes,
      onBegin: () => {
        this.#beganAt = performance.now(); // it may have waited for a thread
        this.#startClock();
      },
      log: this.log,
      onMessage: (message) => this.#hear(message),
    });
    void this.#onThread.ended.then((execution) => this.#ended(execution));
  }

  #hear(message: BodyMessage): void {
    if ("progress" in message) this.report(message.progress);
    else this.#completed = message.completed;
  }

  get signal(): AbortSignal {
    return this.#controller().signal;
  }

  get log(): Logger {
    const { id, name, attemptNo } = this.claimed;
    return childLogger(this.services.log, { task: id, name, attempt: attemptNo });
  }

  /** Its claim has ended with its own transaction, or is about to. */
  get isComplete(): boolean {
    return this.#completed !== "none";
  }

  get context(): WorkerContext {
    return this.services.context;
  }

  get isAborted(): boolean {
    return this.#abort?.signal.aborted ?? false;
  }

  /** Tells the body to stop. If it has not after `graceMs`, its slot is given back and its claim is ended without it. */
  stop(reason: AbortReason, graceMs: number): void {
    if (this.#isOver || this.isAborted) return;
    this.abort(reason);
    // A thread can be ended in the middle of whatever it does, so there is nothing to be patient for.
    const patience = this.#onThread === undefined ? graceMs : Math.min(graceMs, NOTICE_MS);
    this.#wakeIn(patience, () => this.#giveUp(reason));
  }

  abort(reason: AbortReason): void {
    this.#stopped ??= reason;
    this.#controller().abort(new TaskAborted(reason));
    this.#onThread?.abort(reason);
  }

  /** Its claim was given back although it has not stopped: what it still does is not recorded. */
  abandon(): EndedTask {
    this.#isOver = true;
    this.#alarm?.clear();
    this.log.warn(
      "the task did not stop when it was told to: it is given back, and what it still does is not recorded",
    );
    this.#onThread?.terminate(failureOf("CLAIM_LOST", this.#decided));
    return interruptedTask(this.claimed, this.#decided);
  }

  /** Something the body let go of has failed: the task fails with it, unless it has ended. */
  blame(thrown: unknown): void {
    const late = this.#isOver
      ? "after the task had ended; its result stands"
      : "the task will fail with it";
    this.log.error(
      { error: describeError(thrown).message },
      `a promise or callback that the task did not wait for failed: ${late}`,
    );
    this.#stray ??= { thrown };
  }

  /** `value` is JSON text. */
  report(value: string): void {
    const { id, claimId } = this.claimed;
    if (!this.#isOver) this.services.progress.report({ id, claimId, value });
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
    return this.services.sendChild(this.claimed, task, input, options);
  }

  #ended(execution: Execution): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#alarm?.clear();
    const { progress } = this.services;
    if (this.#completed === "done") return this.#endedBefore(execution);
    if (this.#completed === "handed over") return void this.#awaitTransaction(execution);
    if (!progress.isWaiting(this.claimed)) return this.#onEnd?.(this, this.#settled(execution));
    // The last word is written before the claim is gone.
    return void progress.flush().then(() => this.#onEnd?.(this, this.#settled(execution)));
  }

  /** The commit that completed the task has gone through: whatever the body did afterwards changes nothing. */
  #endedBefore(execution: Execution): void {
    if (!execution.ok) {
      const { code, message } = execution.error;
      this.log.warn(
        { code, error: message },
        "the task failed after its transaction had completed it",
      );
    }
    emitCompletion(this.services, () => this.#endEvent());
    this.#onEnd?.(this, undefined);
  }

  async #awaitTransaction(execution: Execution): Promise<void> {
    const fate = await awaitCompletion(this.database, this.claimed).catch((error: unknown) => {
      this.log.error({ error: String(error) }, "the fate of ctx.complete() cannot be read");
      return "undone" as const;
    });
    if (fate === "committed") {
      await tellWaiters(this.database, this.claimed);
      return this.#endedBefore(execution);
    }
    if (fate === "lost") return this.#onEnd?.(this, undefined);
    const failure = execution.ok
      ? thrownFailure(
          new Error(
            "ctx.complete() was called, but its transaction was rolled back or never ended",
          ),
        )
      : execution.error;
    return this.#onEnd?.(this, this.#settled({ ran: true, ok: false, error: failure }));
  }

  #giveUp(reason: AbortReason): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.log.warn(
      { reason },
      "the task did not stop when it was told to: its slot is given back, and what it still does is not recorded",
    );
    const error = failureOf(reason, this.#decided);
    this.#onThread?.terminate(error);
    this.#onEnd?.(
      this,
      reason === "CLAIM_LOST" ? undefined : this.#settled({ ran: true, ok: false, error }),
    );
  }

  #settled(execution: Execution): EndedTask {
    const { payload, onLargeResult } = this.services;
    if (execution.ok && payload.warnBytes !== null && execution.bytes > payload.warnBytes)
      onLargeResult(this.claimed.name, execution.bytes);
    const isInterrupted = this.#stopped === "SHUTDOWN" || this.#stopped === "CLAIM_LOST";
    const judged = this.#judged(execution);
    const settled = settledTask(this.claimed, this.#decided, judged, isInterrupted);
    const { hooks, taskLog } = this.services;
    const isTold = hooks.observesEnds || taskLog.writesAll || settled.edge !== "succeed";
    return isTold ? { ...settled, event: this.#endEvent() } : settled;
  }

  #endEvent(): RunEndEvent {
    const durationMs = Math.max(0, performance.now() - this.#beganAt);
    return { ...attemptEvent(this.claimed, this.services.workerId), durationMs };
  }

  /** An attempt that ran out of time has timed out, whatever its body says; one whose loose ends failed has failed. */
  #judged(execution: Execution): Execution {
    if (this.#stopped === "TIMEOUT" && execution.ran) {
      return { ran: true, ok: false, error: failureOf("TIMEOUT", this.#decided) };
    }
    if (this.#stray === undefined) return execution;
    return { ran: true, ok: false, error: thrownFailure(this.#stray.thrown) };
  }

  #completing(): Completion {
    if (this.#task === undefined) throw new TypeError("a task without a definition has no body");
    return (this.#completion ??= new Completion({
      claim: this.claimed,
      isNode: this.claimed.node !== undefined,
      task: this.#task,
      services: this.services,
      abortReason: () => this.#abortReason(),
      onChange: (state) => (this.#completed = state),
    }));
  }

  /** Why this attempt may do nothing more, if it may not. */
  #abortReason(): AbortReason | undefined {
    return this.#stopped ?? (this.#isOver ? "CLAIM_LOST" : undefined);
  }

  #startClock(): void {
    const { timeoutMs } = this.#decided;
    if (timeoutMs !== undefined) this.#wakeIn(timeoutMs, () => this.stop("TIMEOUT", NOTICE_MS));
  }

  #wakeIn(ms: number, wake: () => void): void {
    this.#alarm ??= new Alarm();
    this.#alarm.set(ms, wake);
  }

  #controller(): AbortController {
    return (this.#abort ??= new AbortController());
  }
}
