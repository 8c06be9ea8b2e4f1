/**
 * The entry of execution: one attempt of one task. In: a claimed task. Out: its end, ready to be written. It has the signal, the
 * timeout and the state of `ctx.transaction` and `ctx.complete`.
 */
import type { Database } from "../../database/database.ts";
import type { RunEndEvent } from "../../define/hooks.ts";
import type { SendOptions } from "../../define/send-options.ts";
import type { WorkerContext } from "../../define/task-context.ts";
import type { TaskHandle } from "../../define/task-handle.ts";
import type { AnyContract, AnyTask } from "../../define/task.ts";
import { childLogger, type Logger } from "../../domain/logger.ts";
import { TaskAborted, type AbortReason } from "../../domain/task-aborted.ts";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import { AttemptContext, type HandlerHost } from "./attempt-context.ts";
import type { AttemptServices } from "./attempt-services.ts";
import { awaitCompletion, notifyWaitersOf } from "./complete-with-effects.ts";
import { Completion, type CompletionState } from "./completion.ts";
import { failureOf, interruptedEnd, decideEnd } from "./decide-end.ts";
import { attemptEvent, emitCompletion } from "./emit-attempt-events.ts";
import type { EndedTask } from "./ended-task.ts";
import { executeTask, thrownFailure, type Execution } from "./execute-task.ts";
import type { AttemptTimes } from "./rollups.ts";
import { serializeError } from "./serialize-error.ts";
import { readAttemptOptions, type AttemptOptions } from "./stored-options.ts";
import type { HandlerMessage } from "./threads/messages.ts";
import type { BlockingAttempt } from "./threads/thread-attempt.ts";
import type { ThreadPool } from "./threads/thread-pool.ts";
import { runAttributed } from "./uncaught-errors.ts";

/** How long a handler may take to end after its timeout. */
const NOTICE_MS = 500;

/** `ended` is undefined if the end is written already, or must not be written. */
export type OnEnd = (attempt: Attempt, ended: EndedTask | undefined) => void;

export class Attempt implements HandlerHost {
  readonly claimed: ClaimedTask;
  readonly services: AttemptServices;
  readonly database: Database;
  readonly #task: AnyTask | undefined;
  readonly #options: AttemptOptions;
  /** Wakes it when a time limit is over. */
  #timer: NodeJS.Timeout | undefined;
  #onEnd: OnEnd | undefined;
  #abort: AbortController | undefined;
  #onThread: BlockingAttempt | undefined;
  #uncaught: { readonly thrown: unknown } | undefined;
  /** Why the handler was told to stop, if it was. */
  #stopped: AbortReason | undefined;
  #completion: Completion | undefined;
  #completed: CompletionState = "none";
  #isOver = false;
  #beganAt: number;

  /** @param beganAt shared by attempts that start together: reading the clock takes 0.3 µs on some machines */
  constructor(
    claimed: ClaimedTask,
    task: AnyTask | undefined,
    services: AttemptServices,
    beganAt = performance.now(),
  ) {
    this.#beganAt = beganAt;
    this.claimed = claimed;
    this.services = services;
    this.database = services.database;
    this.#task = task;
    this.#options = readAttemptOptions(claimed.options, task);
  }

  /** Runs the handler. `onEnd` is called with its end, possibly before `run` returns. */
  run(onEnd: OnEnd): void {
    this.#onEnd = onEnd;
    if (this.#task?.blocking === true && this.services.threads !== undefined) {
      this.#runOnThread(this.services.threads);
      return;
    }
    this.#startClock();
    const { name, input } = this.claimed;
    const execution = runAttributed(this, executeTask, {
      task: this.#task,
      name,
      input,
      context: new AttemptContext(this.claimed, this.services.workerId, this),
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

  #hear(message: HandlerMessage): void {
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

  /** Its own transaction has completed the task, or is about to. */
  get isComplete(): boolean {
    return this.#completed !== "none";
  }

  get context(): WorkerContext {
    return this.services.context;
  }

  get isAborted(): boolean {
    return this.#abort?.signal.aborted ?? false;
  }

  /** Tells the handler to stop. If it has not ended after `graceMs`, its slot is freed and its claim is ended without it. */
  stop(reason: AbortReason, graceMs: number): void {
    if (this.#isOver || this.isAborted) return;
    this.abort(reason);
    // A thread can be ended at any moment, so a long grace buys nothing.
    const patience = this.#onThread === undefined ? graceMs : Math.min(graceMs, NOTICE_MS);
    this.#wakeIn(patience, () => this.#giveUp(reason));
  }

  abort(reason: AbortReason): void {
    this.#stopped ??= reason;
    this.#controller().abort(new TaskAborted(reason));
    this.#onThread?.abort(reason);
  }

  /** Its task is released although the handler has not stopped: what the handler still does is not recorded. */
  abandon(): EndedTask {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.log.warn(
      "handler did not stop when aborted; the task leaves this worker, a later result is ignored",
    );
    this.#onThread?.terminate(failureOf("CLAIM_LOST", this.#options));
    return interruptedEnd(this.claimed, this.#options);
  }

  /** A promise or callback that the handler did not await has failed: the task fails, unless it has ended. */
  attribute(thrown: unknown): void {
    this.log.error(
      { error: serializeError(thrown).message },
      this.#isOver
        ? "unawaited promise or callback failed after the task ended; the result of the task stays"
        : "unawaited promise or callback failed; the task fails with its error",
    );
    this.#uncaught ??= { thrown };
  }

  /** `value` is JSON text. */
  report(value: string): void {
    const { id, claimId } = this.claimed;
    if (!this.#isOver) this.services.progress.report({ id, claimId, value });
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
    clearTimeout(this.#timer);
    const { progress } = this.services;
    if (this.#completed === "done") return this.#endedBefore(execution);
    if (this.#completed === "handed over") return void this.#awaitTransaction(execution);
    if (!progress.isWaiting(this.claimed)) return this.#onEnd?.(this, this.#endedTask(execution));
    // The last progress report is written before the claim is gone.
    return void progress.flush().then(() => this.#onEnd?.(this, this.#endedTask(execution)));
  }

  /** The commit that completed the task has succeeded: what the handler did afterwards changes nothing. */
  #endedBefore(execution: Execution): void {
    if (!execution.ok) {
      const { code, message } = execution.error;
      this.log.warn(
        { code, error: message },
        "handler failed after its transaction completed the task; the task stays completed",
      );
    }
    const times = this.#times();
    this.services.rollups.completed({ ...this.claimed, times });
    emitCompletion(this.services, () => this.#endEvent(times));
    this.#onEnd?.(this, undefined);
  }

  async #awaitTransaction(execution: Execution): Promise<void> {
    const fate = await awaitCompletion(this.database, this.claimed).catch((error: unknown) => {
      this.log.error(
        { error: String(error) },
        "could not read whether ctx.complete() was committed; treating it as rolled back",
      );
      return "undone" as const;
    });
    if (fate === "committed") {
      await notifyWaitersOf(this.database, this.claimed);
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
    return this.#onEnd?.(this, this.#endedTask({ ran: true, ok: false, error: failure }));
  }

  #giveUp(reason: AbortReason): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.log.warn(
      { reason },
      "handler did not stop when aborted; its slot is free for another task, a later result is ignored",
    );
    const error = failureOf(reason, this.#options);
    this.#onThread?.terminate(error);
    this.#onEnd?.(
      this,
      reason === "CLAIM_LOST" ? undefined : this.#endedTask({ ran: true, ok: false, error }),
    );
  }

  #endedTask(execution: Execution): EndedTask {
    const { payload, onLargeResult } = this.services;
    if (execution.ok && payload.warnBytes !== null && execution.bytes > payload.warnBytes)
      onLargeResult(this.log, this.claimed.name, execution.bytes);
    const isInterrupted = this.#stopped === "SHUTDOWN" || this.#stopped === "CLAIM_LOST";
    const judged = this.#judged(execution);
    const times = this.#times();
    const settled = decideEnd(this.claimed, this.#options, judged, { isInterrupted, times });
    const { hooks, taskLog } = this.services;
    const isTold = hooks.observesEnds || taskLog.writesAll || settled.edge !== "succeed";
    return isTold ? { ...settled, event: this.#endEvent(times) } : settled;
  }

  #times(): AttemptTimes {
    return { beganAt: this.#beganAt, endedAt: performance.now() };
  }

  #endEvent({ beganAt, endedAt }: AttemptTimes): RunEndEvent {
    const durationMs = Math.max(0, endedAt - beganAt);
    return { ...attemptEvent(this.claimed, this.services.workerId), durationMs };
  }

  /** After its timeout an attempt has timed out, whatever the handler returns. An uncaught error makes it fail. */
  #judged(execution: Execution): Execution {
    if (this.#stopped === "TIMEOUT" && execution.ran) {
      return { ran: true, ok: false, error: failureOf("TIMEOUT", this.#options) };
    }
    if (this.#uncaught === undefined) return execution;
    return { ran: true, ok: false, error: thrownFailure(this.#uncaught.thrown) };
  }

  get completion(): Completion {
    if (this.#task === undefined) throw new TypeError("a task without a definition has no handler");
    return (this.#completion ??= new Completion({
      claim: this.claimed,
      isNode: this.claimed.node !== undefined,
      task: this.#task,
      services: this.services,
      abortReason: () => this.#abortReason(),
      onChange: (state) => (this.#completed = state),
    }));
  }

  /** Why this attempt may use `ctx` no longer, if so. */
  #abortReason(): AbortReason | undefined {
    return this.#stopped ?? (this.#isOver ? "CLAIM_LOST" : undefined);
  }

  #startClock(): void {
    const { timeoutMs } = this.#options;
    if (timeoutMs !== undefined) this.#wakeIn(timeoutMs, () => this.stop("TIMEOUT", NOTICE_MS));
  }

  #wakeIn(ms: number, wake: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(wake, ms);
  }

  #controller(): AbortController {
    return (this.#abort ??= new AbortController());
  }
}
