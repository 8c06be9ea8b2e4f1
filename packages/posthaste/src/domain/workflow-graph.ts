/**
 * The graph of a workflow as it is stored: plain JSON. The builder makes it, the database reads it (it has no other way to
 * know what comes after what), the command line prints it. A run keeps the graph that it was started with.
 */
import type { Json } from "./json.ts";

export interface WorkflowGraph {
  /** The version of this format, not of the workflow. */
  readonly format: 1;
  readonly name: string;
  readonly version: number;
  readonly onError: "fail" | "pause";
  readonly success: SuccessRule | null;
  /** A node stands behind all that it needs: the order in which they were written. */
  readonly nodes: readonly GraphNode[];
  /** The output of a successful run. */
  readonly output: Filled;
}

/** Ids of nodes. */
export interface SuccessRule {
  /** Null: no node may fail that is not optional. */
  readonly cases: readonly (readonly string[])[] | null;
  readonly optional: readonly string[];
}

export type GraphNode = TaskNode | WorkflowNode | EachNode | JoinNode | WhenNode;

/** Nodes that the engine decides by itself, without a task. */
export type GateKind = "any" | "quorum" | "when";

interface NodeFacts {
  /** Chosen by the author, or `$any1`, `$quorum2`, `$when3` of a gate. */
  readonly id: string;
  readonly needs: readonly Need[];
  /** So many of its needs have to be met: all of them, except at a join. */
  readonly required: number;
}

export interface Need {
  readonly node: string;
  /** success: met when that node is COMPLETED, lost when it is FAILED or SKIPPED. end: met however it ended. */
  readonly accepts: "success" | "end";
}

export interface TaskNode extends NodeFacts, TaskFacts {
  readonly kind: "task";
  readonly input: Filled;
}

/** A nested workflow. */
export interface WorkflowNode extends NodeFacts {
  readonly kind: "workflow";
  readonly workflow: GraphReference;
  readonly input: Filled;
}

/** Fan-out: one task, or one nested workflow, for every item of an array that is known when the node is reached. */
export type EachNode = NodeFacts & {
  readonly kind: "each";
  readonly over: Hole;
  /** The input of one item: its placeholders may be `$item` and `$index`. */
  readonly input: Filled;
} & (TaskFacts | { readonly workflow: GraphReference });

/** COMPLETED as soon as enough of its sources are, SKIPPED as soon as that has become impossible. */
export interface JoinNode extends NodeFacts {
  readonly kind: "any" | "quorum";
}

/** COMPLETED if the condition holds, SKIPPED if it does not. */
export interface WhenNode extends NodeFacts {
  readonly kind: "when";
  readonly condition: Condition;
}

export interface TaskFacts {
  /** The task's name. */
  readonly task: string;
  /** Null: the app's config decides when a run is started. */
  readonly queue: string | null;
  readonly priority: number | null;
  /** As they are stored with a task: retry, timeoutMs, onCrash, maxCrashes. Null: none is set. */
  readonly options: { readonly [name: string]: Json } | null;
  readonly flags: { readonly [name: string]: boolean } | null;
  /** From the moment at which the task is sent. */
  readonly goodForMs: number | null;
  /** An instant as ISO 8601, or where to find one. */
  readonly goodUntil: string | Hole | null;
}

/** Which graph a nested workflow has. It is stored before any run that may need it. */
export interface GraphReference {
  readonly name: string;
  readonly version: number;
  readonly digest: string;
}

/** JSON with values that are known only when it is needed. In the template, null stands where a hole is. */
export interface Filled {
  readonly template: Json;
  readonly holes: readonly Hole[];
}

export interface Hole {
  /** Where in the template; empty: the whole. */
  readonly path: readonly (string | number)[];
  /** The id of a node, `$input` (of the run), `$item` or `$index` (of a fan-out). */
  readonly from: string;
  /**
   * For a node: its output, its result as `{ ok, value }` or `{ ok, error }`, or the list of results of a fan-out's items. For other sources
   * always `output`.
   */
  readonly part: "output" | "result" | "results";
  /** Where in that value. */
  readonly at: readonly (string | number)[];
}

/** Holds if the value is what JavaScript takes for true, or, where `equals` is there, if it is that value. */
export interface Condition {
  readonly value: Hole;
  readonly equals?: Json;
  readonly negated: boolean;
}
