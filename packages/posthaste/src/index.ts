// oxlint-disable-next-line import/no-unassigned-import -- it must run before anything that imports pg
import "./app/refuse-bundle.ts";

export type {
  Admin,
  CapHolder,
  CapOpinion,
  ChangedTasks,
  DoctorOptions,
  EndedFilter,
  EndStats,
  Explanation,
  Finding,
  FindingCode,
  HeartbeatSpan,
  ListTasksOptions,
  ListWorkflowsOptions,
  NotJudged,
  OpenFilter,
  OpenStatus,
  OperatorAction,
  PaceOptions,
  PauseOptions,
  Percentiles,
  Pruned,
  QueueInfo,
  QueueStats,
  RecoveredTask,
  RecoveredWorkflows,
  RecoverStaleOptions,
  RecoveryInfo,
  RecoveryResult,
  RepairedWorkflow,
  RetryableStatus,
  RetryOptions,
  ScheduleInfo,
  SendAgainOptions,
  SendByNameOptions,
  Stats,
  StatsOptions,
  SweepOptions,
  SweepResult,
  TaskAdmin,
  TaskFilter,
  TaskGate,
  TaskPage,
  TaskStats,
  TaskSummary,
  TaskTimeline,
  TimelineEvent,
  TriggeredFiring,
  WorkerInfo,
  WorkflowDetails,
} from "./admin/admin.ts";
export { posthaste, type Posthaste } from "./app/posthaste.ts";
export type {
  AppConfig,
  QueueOptions,
  RecoveryOptions,
  ResilienceOptions,
  WorkerRecoveryOptions,
} from "./app/read-app-config.ts";
export type { SendManyItem } from "./sending/send-many-items.ts";
export { defineTask, implement } from "./define/define-task.ts";
export { defineSchedule } from "./define/define-schedule.ts";
export type { TaskScheduleOptions, WorkflowScheduleOptions } from "./define/define-schedule.ts";
export type { Schedule } from "./define/schedule.ts";
export { defineWorkflow } from "./define/define-workflow.ts";
export type { AfterOption, Flow, NodeOptions } from "./define/flow.ts";
export type { NewNode } from "./define/flow-types.ts";
export type {
  FailedEvent,
  Hooks,
  InterruptedTask,
  InterruptionReason,
  RetriedEvent,
  RunEndEvent,
  RunEvent,
  ScheduleLateEvent,
  SchedulePausedEvent,
  TaskEvent,
  TaskInterruptedEvent,
  TaskRecoveryAnswer,
  TaskRecoveryEvent,
  WorkerEvent,
  WorkerRecoveredEvent,
} from "./define/hooks.ts";
export { exponential, fixed } from "./define/retry-policies.ts";
export type { CodeOf, InputOf, OutputOf, Task, TaskContract } from "./define/task.ts";
export type { CallersTransaction, SendOptions, TaskOptions } from "./define/send-options.ts";
// Declaration files of workflows name these, though few programs write them.
export type {
  ConditionRef,
  EachRef,
  Followed,
  JoinRef,
  Maybe,
  NodeRef,
  NodeType,
  OutputWithNodes,
  Ref,
  RefTo,
  Sure,
} from "./define/ref-types.ts";
export type {
  AnyWorkflow,
  NodeIdOf,
  NodeResultOf,
  Workflow,
  WorkflowInputOf,
  WorkflowOutputOf,
} from "./define/workflow.ts";
export type {
  EarlierNode,
  NodeInfo,
  NodeResults,
  WorkflowInfo,
  WorkflowResult,
  WorkflowRun,
  WorkflowSummary,
} from "./define/workflow-run.ts";
export type { SuccessOptions, WorkflowOptions } from "./define/workflow-options.ts";
export type { WorkflowProblem, WorkflowProblemCode } from "./define/workflow-problem.ts";
export type {
  Register,
  TaskContext,
  TaskTransaction,
  WorkerContext,
} from "./define/task-context.ts";
export type { TaskHandle, TaskInfo, WaitOptions } from "./define/task-handle.ts";
export { INFRASTRUCTURE_RESILIENT_FLAG } from "./config/recovery-fields.ts";
export type { CrashRule } from "./domain/crash-policy.ts";
export {
  PosthasteError,
  TaskFailedError,
  WorkflowFailedError,
  type Problem,
  type ResultCode,
  type ThrownCode,
} from "./domain/errors.ts";
export type { InterruptionEvidence, RecoveryCause } from "./domain/interruption.ts";
export type { Json } from "./domain/json.ts";
export type { AppLogger, Logger } from "./domain/logger.ts";
export {
  fail,
  TaskError,
  type AttemptInfo,
  type ErrorCause,
  type TaskFailure,
  type TaskResult,
  type TaskRetry,
} from "./domain/result.ts";
export { TaskAborted, type AbortReason } from "./domain/task-aborted.ts";
export { TASK_TERMINAL_STATES, TaskStatus } from "./domain/task-lifecycle.ts";
export type { GraphNode, WorkflowGraph } from "./domain/workflow-graph.ts";
export {
  NODE_TERMINAL_STATES,
  NodeStatus,
  WORKFLOW_TERMINAL_STATES,
  WorkflowStatus,
} from "./domain/workflow-lifecycle.ts";
export type { WorkerHealth } from "./worker/health.ts";
export type {
  LogFormat,
  LogLevel,
  OnBlocked,
  SchedulerOptions,
  WorkerOptions,
} from "./config/worker-options.ts";
export type { Worker } from "./worker/worker.ts";
