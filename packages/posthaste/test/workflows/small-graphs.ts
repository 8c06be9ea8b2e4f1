/** Graphs written by hand, small enough to be read at a glance. */
import type { Json } from "../../src/domain/json.ts";
import type {
  Filled,
  GraphNode,
  Hole,
  Need,
  WorkflowGraph,
} from "../../src/domain/workflow-graph.ts";

const nothing: Filled = { template: null, holes: [] };
const task = {
  queue: "default",
  priority: 100,
  options: null,
  flags: null,
  goodForMs: null,
  goodUntil: null,
} as const;

/** `"a"`: its success; `"a?"`: its end. */
function needsOf(after: readonly string[]): Need[] {
  return after.map((said) =>
    said.endsWith("?")
      ? { node: said.slice(0, -1), accepts: "end" }
      : { node: said, accepts: "success" },
  );
}

function hole(from: string, part: Hole["part"] = "output"): Hole {
  return { path: [], from, part, at: [] };
}

/** A task with the name of the node. Its input is null. */
export function node(id: string, ...after: readonly string[]): GraphNode {
  const needs = needsOf(after);
  return { kind: "task", id, needs, required: needs.length, task: id, input: nothing, ...task };
}

/** A task for every element of the output of `over`; without `over`, of the run's input. */
export function each(id: string, over?: string, workflow?: WorkflowGraph): GraphNode {
  const needs = over === undefined ? [] : needsOf([over]);
  const shared = { kind: "each", id, needs, required: needs.length } as const;
  const from =
    over === undefined
      ? hole("$input")
      : over.endsWith("?")
        ? { ...hole(over.slice(0, -1), "result"), at: ["error", "data"] }
        : hole(over);
  const input: Filled = { template: null, holes: [hole("$item")] };
  if (workflow === undefined) return { ...shared, over: from, input, task: id, ...task };
  return { ...shared, over: from, input, workflow: referenceTo(workflow) };
}

export function nested(
  id: string,
  workflow: WorkflowGraph,
  ...after: readonly string[]
): GraphNode {
  const needs = needsOf(after);
  const workflowOf = referenceTo(workflow);
  return {
    kind: "workflow",
    id,
    needs,
    required: needs.length,
    workflow: workflowOf,
    input: nothing,
  };
}

export function any(id: string, ...sources: readonly string[]): GraphNode {
  return { kind: "any", id, needs: needsOf(sources), required: 1 };
}

export function when(id: string, source: string): GraphNode {
  const condition = { value: hole(source), negated: false };
  return { kind: "when", id, needs: needsOf([source]), required: 1, condition };
}

interface Extras {
  readonly onError?: "fail" | "pause";
  readonly optional?: readonly string[];
  readonly output?: Json;
}

/** The output of the graph is that of its last node, unless `output` is given. */
export function graph(
  name: string,
  nodes: readonly GraphNode[],
  { onError = "fail", optional, output }: Extras = {},
): WorkflowGraph {
  const last = nodes.at(-1);
  return {
    format: 1,
    name,
    version: 1,
    onError,
    success: optional === undefined ? null : { cases: null, optional },
    nodes,
    output:
      output === undefined && last !== undefined
        ? { template: null, holes: [hole(last.id)] }
        : { template: output ?? null, holes: [] },
  };
}

function referenceTo({ name, version }: WorkflowGraph) {
  return { name, version, digest: digestOf({ name }) };
}

/** Names are unique in a test file, which is enough for a digest here. */
export function digestOf({ name }: { readonly name: string }): string {
  return `digest of ${name}`;
}
