/** What an app may be told of, and what it may decide: `posthaste({ hooks: { … } })`. */
import type { TaskRecoveryAnswer } from "../domain/crash-policy.ts";
import type { Json } from "../domain/json.ts";
import type { MaybePromise } from "./schema.ts";
import type { TaskFailure } from "../domain/result.ts";
import type { TaskStatus } from "../domain/task-lifecycle.ts";

export type { TaskRecoveryAnswer };

/** One function or several; several are called in their order. */
export type OneOrMore<Item> = Item | readonly Item[];

/** Decides, or is told and must be waited for. */
type Hook<Event, Answer = void> = (event: Event) => MaybePromise<Answer>;

export interface Hooks {
  /**
   * What is to become of a task that was taken from a worker: called before anything is changed, outside any
   * transaction. The first answer that is not `default` counts. A hook that throws or takes too long answers `default`.
   */
  readonly taskRecovery?: OneOrMore<Hook<TaskRecoveryEvent, TaskRecoveryAnswer>>;
  /** A task was taken from its worker, and that is committed. */
  readonly taskInterrupted?: OneOrMore<Hook<TaskInterruptedEvent>>;
  /** A sweep has found workers that are gone or silent; called after its commits. */
  readonly workerRecovered?: OneOrMore<Hook<WorkerRecoveredEvent>>;

  readonly taskSent?: OneOrMore<Hook<TaskEvent>>;
  readonly taskStarted?: OneOrMore<Hook<RunEvent>>;
  readonly taskCompleted?: OneOrMore<Hook<RunEndEvent>>;
  readonly taskFailed?: OneOrMore<Hook<FailedEvent>>;
  readonly taskRetried?: OneOrMore<Hook<RetriedEvent>>;
  readonly taskCancelled?: OneOrMore<Hook<TaskEvent>>;
  readonly taskExpired?: OneOrMore<Hook<TaskEvent>>;
  readonly workerStarted?: OneOrMore<Hook<WorkerEvent>>;
  readonly workerStopped?: OneOrMore<Hook<WorkerEvent>>;
}

/** A task that is about to be taken from its worker. */
export interface InterruptedTask {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  /** CLAIMED: its body has not begun. RUNNING: it may have. */
  readonly status: TaskStatus;
  readonly input: Json;
  readonly flags: Readonly<Record<string, boolean>>;
  readonly claimId: string;
  /** Bodies that have begun so far. */
  readonly attempt: number;
  readonly retryCount: number;
  /** Crashes in a row so far, without this one. */
  readonly crashCount: number;
}

export type InterruptionReason = "WORKER_CRASHED" | "SHUTDOWN_ABORTED";

export interface TaskRecoveryEvent {
  readonly task: InterruptedTask;
  /** Who recovers it; "admin" when an operator does. */
  readonly recoveringWorkerId: string;
  readonly previousWorkerId: string;
  readonly reason: InterruptionReason;
}

export interface TaskInterruptedEvent extends TaskRecoveryEvent {
  readonly decision: "release" | "requeue" | "retry" | "fail" | "cancel";
}

export interface WorkerRecoveredEvent {
  readonly workerIds: readonly string[];
  readonly recoveredCount: number;
}

export interface TaskEvent {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
}

export interface RunEvent extends TaskEvent {
  /** 1 for the first body that ran. */
  readonly attempt: number;
  readonly workerId: string;
}

export interface RunEndEvent extends RunEvent {
  readonly durationMs: number;
}

export interface FailedEvent extends RunEndEvent {
  readonly error: TaskFailure;
}

export interface RetriedEvent extends FailedEvent {
  readonly delayMs: number;
}

export interface WorkerEvent {
  readonly workerId: string;
  readonly name: string;
  readonly queues: readonly string[];
}
