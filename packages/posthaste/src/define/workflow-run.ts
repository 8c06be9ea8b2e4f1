/** A run of a workflow, from the side of who started it. */
import type { ResultCode } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import type { AttemptInfo, TaskFailure, TaskResult } from "../domain/result.ts";
import type { GraphNode } from "../domain/workflow-graph.ts";
import type { NodeStatus, WorkflowStatus } from "../domain/workflow-lifecycle.ts";
import type { WaitOptions } from "./task-handle.ts";
import type { AnyWorkflow, NodeIdOf, NodeResultOf, WorkflowOutputOf } from "./workflow.ts";

/** A run without its input: what lists show. */
export interface WorkflowSummary {
  readonly id: string;
  readonly name: string;
  /** The version of its definition. */
  readonly version: number;
  readonly status: WorkflowStatus;
  readonly key: string | null;
  readonly startedAt: Date;
  /** Null: it is not paused. */
  readonly pausedAt: Date | null;
  /** When it was first asked to stop; null: never. */
  readonly cancelRequestedAt: Date | null;
  readonly endedAt: Date | null;
  /** Nodes that authors wrote; a fan-out is one. `open` have not ended. */
  readonly counts: {
    readonly total: number;
    readonly open: number;
    readonly completed: number;
    readonly failed: number;
    readonly skipped: number;
  };
  /** The error that it failed with, or was paused by. */
  readonly error: TaskFailure | null;
  /** The run in which it is nested: in this node, and in this item of it if the node is a fan-out. Null: in none. */
  readonly parent: {
    readonly id: string;
    readonly node: string;
    readonly item: number | null;
  } | null;
  /** The run that the whole tree hangs on; its own id if it is nested in none. */
  readonly rootId: string;
}

export interface WorkflowInfo extends WorkflowSummary {
  readonly input: Json;
}

/** A node as it was before it was started over. */
export interface EarlierNode {
  readonly status: NodeStatus;
  readonly taskId: string | null;
  readonly runId: string | null;
  readonly endedAt: Date | null;
  readonly error: TaskFailure | null;
  readonly attempts: readonly AttemptInfo[];
}

export interface NodeInfo {
  readonly id: string;
  /** any, quorum and when are decided by the engine, without a task. */
  readonly kind: GraphNode["kind"];
  readonly status: NodeStatus;
  /** The name of its task, if it has one. */
  readonly task: string | null;
  /** The task that was sent for it; null: none yet, or it has items or a nested run. */
  readonly taskId: string | null;
  /** The run that is nested in it. */
  readonly runId: string | null;
  /** The items of a started fan-out; `failed` counts skipped ones, too. */
  readonly items: {
    readonly total: number;
    readonly completed: number;
    readonly failed: number;
  } | null;
  /** When its task was sent, its nested run was started, or its items were. */
  readonly enqueuedAt: Date | null;
  /** When the first attempt of its task began. */
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** How it ended; null: it has not, or it is decided by the engine. */
  readonly result: TaskResult<Json> | null;
  /** Handlers of its task that ran, oldest first. */
  readonly attempts: readonly AttemptInfo[];
  /** Its earlier states, before `retryFrom` started it again, oldest first. */
  readonly earlier: readonly EarlierNode[];
}

/** How a run ended. */
export type WorkflowResult<W extends AnyWorkflow> = TaskResult<WorkflowOutputOf<W>, ResultCode>;

/** The value of `results()`: one entry for every ended node. */
export type NodeResults<W extends AnyWorkflow> = {
  readonly [Id in NodeIdOf<W>]?: NodeResultOf<W, Id>;
};

export interface WorkflowRun<W extends AnyWorkflow = AnyWorkflow> {
  readonly id: string;
  status(): Promise<WorkflowStatus>;
  /**
   * How the run ended, as a value; a run that is paused is waited for. Throws only if *waiting* failed (WAIT_TIMEOUT,
   * WORKFLOW_NOT_FOUND, the signal). WORKFLOW_NOT_FOUND is thrown at once if there is no such run (with `tx`, ask after
   * the commit), and after two polls (`resilience.notifyPollIntervalMs`, 5 s) if the run was there and is not any more.
   */
  result(options?: WaitOptions): Promise<WorkflowResult<W>>;
  /** The output of the run; throws WorkflowFailedError if it did not succeed. */
  value(options?: WaitOptions): Promise<WorkflowOutputOf<W>>;
  /** The results of the nodes that have ended so far. */
  results(): Promise<NodeResults<W>>;
  /** The result of one node; null while it has not ended. Does not wait. */
  resultFor<Id extends NodeIdOf<W>>(node: Id): Promise<NodeResultOf<W, Id> | null>;
  /** Every node in the order in which they were written, with its task, its attempts and its earlier states. */
  nodes(): Promise<readonly NodeInfo[]>;
  info(): Promise<WorkflowInfo>;
  /** Nothing new of it starts; what runs goes on to its end. False: it was not running. */
  pause(): Promise<boolean>;
  /** Goes on with what could start. False: it was not paused. */
  resume(): Promise<boolean>;
  /**
   * "cancelled": it has ended. "requested": something of it still runs, its `ctx.signal` aborts, and then the run ends
   * CANCELLED. "finished": it had ended.
   */
  cancel(): Promise<"cancelled" | "requested" | "finished">;
  /**
   * Starts FAILED nodes over, with all that follows them; of a fan-out only the items that failed. The run must be PAUSED,
   * or FAILED and nested in no other.
   */
  retryFrom(...nodes: readonly [NodeIdOf<W>, ...NodeIdOf<W>[]]): Promise<void>;
}
