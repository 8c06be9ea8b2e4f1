/** The picture of a run at one moment, as the oracle expects it and as a driver reads it. */
import type { TaskFailure } from "../../src/domain/result.ts";
import type { Json } from "../../src/domain/json.ts";
import type { NodeStatus, WorkflowStatus } from "../../src/domain/workflow-lifecycle.ts";
import { OPEN, type Value } from "./values.ts";

/** How a task ends. */
export type TaskEnd =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly status: "FAILED"; readonly error: TaskFailure }
  | { readonly ok: false; readonly status: "EXPIRED" | "CANCELLED" };

/**
 * How the task at a path ends. A path is the ids of the nodes from the root run down, with the index of an item:
 * `a/b[3]/c` is node `c` of the run that was started for item 3 of the fan-out `b` of the run nested in `a`.
 */
export type Outcomes = (path: string) => TaskEnd;

export type Outcome =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: Value };

/** A place has a task or a nested run: it is a node, or an item of a fan-out. */
export interface PlaceState {
  readonly status: NodeStatus;
  /** Null unless the place is COMPLETED or FAILED. */
  readonly outcome: Outcome | null;
  /** The input of its task or its nested run; undefined if it was never started. */
  readonly input?: Value;
  readonly run?: RunState;
}

export interface NodeState extends PlaceState {
  /** The items of a fan-out that has started. */
  readonly items?: readonly PlaceState[];
}

export interface RunState {
  readonly status: WorkflowStatus;
  /** The run was cancelled and a task still runs: the rules leave open whether it is RUNNING or PAUSED meanwhile. */
  readonly isCancelling?: boolean;
  readonly nodes: { readonly [id: string]: NodeState };
  /** Null unless the run has ended. */
  readonly outcome: Outcome | null;
}

/** An error that the engine makes: the rules name its code and leave the rest open. */
export function errorOf(code: string | typeof OPEN, data: Value = OPEN): Value {
  return { code, message: OPEN, data, cause: OPEN };
}

/** Rule 8. */
export function outcomeOfTask(end: TaskEnd): Outcome {
  if (end.ok) return end;
  if (end.status === "FAILED") return { ok: false, error: end.error as unknown as Value };
  return { ok: false, error: errorOf(`TASK_${end.status}`) };
}

/** Rule 9. */
export function outcomeOfNested(run: Pick<RunState, "status" | "outcome">): Outcome {
  if (run.status === "COMPLETED" && run.outcome !== null) return run.outcome;
  return { ok: false, error: errorOf("SUBWORKFLOW_FAILED") };
}

/** Rule 10, for items that have all ended. */
export function outcomeOfItems(items: readonly PlaceState[]): Outcome {
  const values: Value[] = [];
  for (const item of items) {
    if (item.outcome?.ok !== true) return { ok: false, error: errorOf("WORKFLOW_ITEMS_FAILED") };
    values.push(item.outcome.value);
  }
  return { ok: true, value: values };
}

export function ended(outcome: Outcome): {
  readonly status: NodeStatus;
  readonly outcome: Outcome;
} {
  return { status: outcome.ok ? "COMPLETED" : "FAILED", outcome };
}
