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
  /** The input type of `start`; `undefined` if the workflow takes no input. */
  readonly input: unknown;
  /** The output type of the input schema: `build` gets a ref to it, and a nested run gets it. */
  readonly parsed: unknown;
  /** The output of a successful run. */
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
  /** The graph. Partial, if there are problems. */
  readonly graph: WorkflowGraph;
  /** The workflows that are nested in this one directly. */
  readonly children: readonly AnyWorkflow[];
  /** The tasks of its nodes. */
  readonly tasks: readonly AnyContract[];
  /** Its problems; `start` refuses a workflow with problems. */
  readonly problems: readonly WorkflowProblem[];
}

export interface Workflow<Types extends WorkflowTypes = WorkflowTypes> extends AnyWorkflow {
  readonly [workflowBrand]: Types;
}

/** The input type of `start` for this workflow. */
export type WorkflowInputOf<W extends AnyWorkflow> = W[typeof workflowBrand]["input"];

/** The input of a nested run, which is not parsed again: the schema's output type. */
export type WorkflowParsedOf<W extends AnyWorkflow> = W[typeof workflowBrand]["parsed"];

/** The value type of a successful result of this workflow. */
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
