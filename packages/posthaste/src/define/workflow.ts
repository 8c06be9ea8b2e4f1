/** A defined workflow: an inert value that carries its graph and its types. */
import type { ResultCode } from "../domain/errors.ts";
import type { TaskResult } from "../domain/result.ts";
import type { WorkflowGraph } from "../domain/workflow-graph.ts";
import type { Maybe, NodeType } from "./ref-types.ts";
import type { StandardSchema } from "./schema.ts";
import type { AnyContract } from "./task.ts";
import type { WorkflowProblem } from "./workflow-problem.ts";

/** The types of one workflow in one bag. */
export interface WorkflowTypes {
  /** What `start` takes; `undefined` when the workflow takes no input. */
  readonly input: unknown;
  /** What the schema makes of it: what `build` gets a ref to, and what a nested run is given. */
  readonly parsed: unknown;
  /** What a run that succeeded results in. */
  readonly output: unknown;
  /** The nodes behind everything that `build` returned, as a union. */
  readonly nodes: NodeType<string, unknown, string> | Maybe;
}

/** Registered, not local: a workflow stays one when two copies of this package are loaded. */
export const workflowBrand: unique symbol = Symbol.for("posthaste.workflow");

/** Any definition of a workflow. */
export interface AnyWorkflow {
  /** True at run time; in types it carries the types of the workflow. */
  readonly [workflowBrand]: WorkflowTypes;
  readonly name: string;
  readonly version: number;
  readonly input: StandardSchema | undefined;
  /** What `build` made. Partial, if there are problems. */
  readonly graph: WorkflowGraph;
  /** The workflows that are nested in this one directly. */
  readonly children: readonly AnyWorkflow[];
  /** The tasks of its nodes. */
  readonly tasks: readonly AnyContract[];
  /** What is wrong with it; a run of it is refused as long as there is anything. */
  readonly problems: readonly WorkflowProblem[];
}

export interface Workflow<Types extends WorkflowTypes = WorkflowTypes> extends AnyWorkflow {
  readonly [workflowBrand]: Types;
}

/** What `start` takes for this workflow. */
export type WorkflowInputOf<W extends AnyWorkflow> = W[typeof workflowBrand]["input"];

/** What a nested run of this workflow is given: not parsed again, so it is what the schema makes. */
export type WorkflowParsedOf<W extends AnyWorkflow> = W[typeof workflowBrand]["parsed"];

/** What a successful result of this workflow holds. */
export type WorkflowOutputOf<W extends AnyWorkflow> = W[typeof workflowBrand]["output"];

type NodesOf<W extends AnyWorkflow> = Exclude<W[typeof workflowBrand]["nodes"], Maybe>;

/** The ids of the nodes that lead to what `build` returned. */
export type NodeIdOf<W extends AnyWorkflow> = NodesOf<W>["id"];

/** The result of one of them. */
export type NodeResultOf<W extends AnyWorkflow, Id extends NodeIdOf<W>> = ResultOf<
  NodeWithId<NodesOf<W>, Id>
>;

// The id of a node may be only known as a string: then it may be any.
type NodeWithId<Node extends NodeType<string, unknown, string>, Id> = Node extends unknown
  ? Id extends Node["id"]
    ? Node
    : never
  : never;

type ResultOf<Node extends NodeType<string, unknown, string>> = TaskResult<
  Node["output"],
  Node["code"] | ResultCode
>;

/** Whether a value was made by `defineWorkflow`. */
export function isWorkflow(value: unknown): value is AnyWorkflow {
  return typeof value === "object" && value !== null && Reflect.get(value, workflowBrand) === true;
}
