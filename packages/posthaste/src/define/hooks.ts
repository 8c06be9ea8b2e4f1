/** The hooks of an app, which decide or are notified: `posthaste({ hooks: { … } })`. */
import type { TaskRecoveryAnswer } from "../domain/crash-policy.ts";
import type { Json } from "../domain/json.ts";
import type { TaskFailure } from "../domain/result.ts";
import type { TaskStatus } from "../domain/task-lifecycle.ts";
import type { MaybePromise } from "./schema.ts";

export type { TaskRecoveryAnswer };

/** One function or several; several are called in their order. */
export type OneOrMore<Item> = Item | readonly Item[];

/** May be async: Posthaste waits for hooks that decide, not for hooks that are notified. */
type Hook<Event, Answer = void> = (event: Event) => MaybePromise<Answer>;

export interface Hooks {
  // Recovery.

  /**
   * Decides about a task that is recovered from a worker: called before any change, outside any
   * transaction. The first answer that is not `default` counts. A hook that throws or takes too long answers `default`.
   */
  readonly taskRecovery?: OneOrMore<Hook<TaskRecoveryEvent, TaskRecoveryAnswer>>;
  /** A task was taken from its worker, and that is committed. */
  readonly taskInterrupted?: OneOrMore<Hook<TaskInterruptedEvent>>;
  /** A sweep has found workers that are gone or silent; called after its commits. */
  readonly workerRecovered?: OneOrMore<Hook<WorkerRecoveredEvent>>;

  // Events: called in the process that caused them, after the database has confirmed it. Posthaste does not wait for them; an error is
  // logged and changes nothing.

  /** This app has sent a task, or sent one again under the same `id`. With `tx`: it is inserted, and exists once that transaction commits. */
  readonly taskSent?: OneOrMore<Hook<TaskEvent>>;
  /** A worker of this app is about to call the handler. */
  readonly taskStarted?: OneOrMore<Hook<RunEvent>>;
  readonly taskCompleted?: OneOrMore<Hook<RunEndEvent>>;
  /** The task has failed for good. */
  readonly taskFailed?: OneOrMore<Hook<FailedEvent>>;
  /** An attempt has failed and the task waits for its next one. */
  readonly taskRetried?: OneOrMore<Hook<RetriedEvent>>;
  readonly taskCancelled?: OneOrMore<Hook<TaskEvent>>;
  /** The task did not start before its `goodUntil`. */
  readonly taskExpired?: OneOrMore<Hook<TaskEvent>>;
  readonly workerStarted?: OneOrMore<Hook<WorkerEvent>>;
  readonly workerStopped?: OneOrMore<Hook<WorkerEvent>>;
  /** A slot of a schedule fired 5 s late or more. */
  readonly scheduleLate?: OneOrMore<Hook<ScheduleLateEvent>>;
  /** A schedule was paused because it failed to fire ten times in a row. */
  readonly schedulePaused?: OneOrMore<Hook<SchedulePausedEvent>>;
}

/** All hooks: whether each decides or is notified. */
export const hookKinds = {
  taskRecovery: "decides",
  taskInterrupted: "is told",
  workerRecovered: "is told",
  taskSent: "is told",
  taskStarted: "is told",
  taskCompleted: "is told",
  taskFailed: "is told",
  taskRetried: "is told",
  taskCancelled: "is told",
  taskExpired: "is told",
  workerStarted: "is told",
  workerStopped: "is told",
  scheduleLate: "is told",
  schedulePaused: "is told",
} as const satisfies Record<keyof Hooks, "decides" | "is told">;

export type HookName = keyof typeof hookKinds;

/** The names of the events. */
export type EventName = {
  [Name in HookName]: (typeof hookKinds)[Name] extends "is told" ? Name : never;
}[HookName];

/** The argument of the hooks of this name. */
export type HookEvent<Name extends HookName> =
  NonNullable<Hooks[Name]> extends OneOrMore<Hook<infer Event, infer _>> ? Event : never;

/** A task that is about to be taken from its worker. */
export interface InterruptedTask {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  /** CLAIMED: its handler has not begun. RUNNING: it may have. */
  readonly status: TaskStatus;
  readonly input: Json;
  readonly flags: Readonly<Record<string, boolean>>;
  readonly claimId: string;
  /** Handlers that have begun so far. */
  readonly attempt: number;
  readonly retryCount: number;
  /** Crashes in a row so far, without this one. */
  readonly crashCount: number;
}

export type InterruptionReason = "WORKER_CRASHED" | "SHUTDOWN_ABORTED";

export interface TaskRecoveryEvent {
  readonly task: InterruptedTask;
  /** The worker that recovers it; "admin" for an operator. */
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
  /** 1 for the first handler that ran. */
  readonly attempt: number;
  readonly workerId: string;
}

export interface RunEndEvent extends RunEvent {
  /** From the call of the handler to its end. */
  readonly durationMs: number;
}

export interface FailedEvent extends RunEndEvent {
  readonly error: TaskFailure;
}

export interface RetriedEvent extends FailedEvent {
  /** Until the next attempt may begin. */
  readonly delayMs: number;
}

export interface WorkerEvent {
  readonly workerId: string;
  readonly name: string;
  readonly queues: readonly string[];
}

export interface ScheduleLateEvent {
  /** The name of the schedule. */
  readonly name: string;
  readonly slot: Date;
  /** After the slot and its jitter. */
  readonly lateMs: number;
}

export interface SchedulePausedEvent {
  readonly name: string;
  readonly failures: number;
  /** Why the last one failed. */
  readonly error: string;
}
