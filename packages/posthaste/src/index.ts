export { posthaste, type Posthaste } from "./app/posthaste.ts";
export type {
  AppConfig,
  QueueOptions,
  RecoveryOptions,
  ResilienceOptions,
} from "./app/read-app-config.ts";
export type { SendManyItem } from "./app/send-many-items.ts";
export type { WaitOptions } from "./client/result-waits.ts";
export type { SendOptions } from "./client/sender.ts";
export type { AttemptInfo, TaskHandle, TaskInfo } from "./client/task-handle.ts";
export { defineTask, implement } from "./define/define-task.ts";
export { exponential, fixed } from "./define/retry-policies.ts";
export type { CodeOf, InputOf, OutputOf, Task, TaskContract } from "./define/task.ts";
export type { TaskContext } from "./define/task-context.ts";
export {
  PosthasteError,
  TaskFailedError,
  type Problem,
  type ResultCode,
  type ThrownCode,
} from "./domain/errors.ts";
export type { Json } from "./domain/json.ts";
export type { Logger } from "./domain/logger.ts";
export {
  fail,
  TaskError,
  type ErrorCause,
  type TaskFailure,
  type TaskResult,
} from "./domain/result.ts";
export { TASK_TERMINAL_STATES, TaskStatus } from "./domain/task-lifecycle.ts";
export type { LogLevel, WorkerOptions } from "./domain/worker-options.ts";
export type { TaskOptions } from "./engine/compose-task.ts";
export type { CallersTransaction } from "./store/transaction.ts";
export { TaskAborted, type AbortReason } from "./worker/task-run.ts";
export type { Worker } from "./worker/worker.ts";
