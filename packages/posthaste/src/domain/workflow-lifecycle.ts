/** The states of runs and of their nodes. */

/** PENDING: its start is under way, inside a transaction that has not committed. */
export const WorkflowStatus = {
  PENDING: "PENDING",
  RUNNING: "RUNNING",
  PAUSED: "PAUSED",
  COMPLETED: "COMPLETED",
  FAILED: "FAILED",
  CANCELLED: "CANCELLED",
} as const;

export type WorkflowStatus = keyof typeof WorkflowStatus;

export const WORKFLOW_TERMINAL_STATES: readonly WorkflowStatus[] = [
  "COMPLETED",
  "FAILED",
  "CANCELLED",
];

export const NodeStatus = {
  /** Waits for others. */
  PENDING: "PENDING",
  /** Its needs are met. Committed only while its run is paused. */
  READY: "READY",
  /** Its task waits in its queue. The row keeps this status while the task runs; readers derive RUNNING. */
  ENQUEUED: "ENQUEUED",
  /** Its task has begun (and may be waiting for a retry), or its nested run or its items are under way. */
  RUNNING: "RUNNING",
  COMPLETED: "COMPLETED",
  FAILED: "FAILED",
  SKIPPED: "SKIPPED",
} as const;

export type NodeStatus = keyof typeof NodeStatus;

export const NODE_TERMINAL_STATES: readonly NodeStatus[] = ["COMPLETED", "FAILED", "SKIPPED"];
