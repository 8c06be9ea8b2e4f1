/** The rules about one node or one run, independent of its history. Numbers are those of the guide. */
import type {
  Condition,
  EachNode,
  GraphNode,
  Hole,
  TaskNode,
  WorkflowGraph,
} from "../../src/domain/workflow-graph.ts";
import { NODE_TERMINAL_STATES } from "../../src/domain/workflow-lifecycle.ts";
import {
  errorOf,
  type NodeState,
  type Outcome,
  type PlaceState,
  type RunState,
} from "./picture.ts";
import { dig, fill, isEqual, isTrue, MISSING, OPEN, Undetermined } from "./values.ts";
import type { Found, Value } from "./values.ts";

export type Nodes = RunState["nodes"];

/** A node with a task or a nested run: one, or one for every item. */
export type Startable = Extract<GraphNode, { readonly kind: "task" | "workflow" | "each" }>;

/** The values that the holes of a run refer to. */
export interface Sources {
  readonly nodes: Nodes;
  readonly input: Value;
  readonly item?: { readonly value: Value; readonly index: number };
}

export function hasEnded(state: Pick<PlaceState, "status">): boolean {
  return NODE_TERMINAL_STATES.includes(state.status);
}

/** Rules 1 and 2: whether a node can start, has become impossible, or waits. */
export function chance(node: GraphNode, nodes: Nodes): "met" | "lost" | "waits" {
  let met = 0;
  let lost = 0;
  for (const need of node.needs) {
    const source = stateIn(nodes, need.node);
    if (!hasEnded(source)) continue;
    if (need.accepts === "end" || source.status === "COMPLETED") met += 1;
    else lost += 1;
  }
  if (met >= node.required) return "met";
  return node.needs.length - lost < node.required ? "lost" : "waits";
}

/** Rule 5. If more sources are COMPLETED than needed, the output depends on which of them were first. */
export function outputOfJoin(
  node: GraphNode & { readonly kind: "any" | "quorum" },
  nodes: Nodes,
): Value {
  const outputs = node.needs
    .map((need) => stateIn(nodes, need.node))
    .flatMap<Value>((source) => (source.outcome?.ok === true ? [source.outcome.value] : []));
  if (outputs.length > node.required) return OPEN;
  return node.kind === "any" ? (outputs[0] ?? null) : outputs;
}

/** Rule 6. */
export function holds(condition: Condition, sources: Sources): boolean {
  const value = valueOf(condition.value, sources);
  const holdsAsWritten =
    condition.equals === undefined ? isTrue(value) : isEqual(value, condition.equals);
  return holdsAsWritten !== condition.negated;
}

export function valueOf(hole: Hole, sources: Sources): Found {
  if (hole.from === "$input") return dig(sources.input, hole.at);
  if (hole.from === "$item") return dig(sources.item?.value ?? null, hole.at);
  if (hole.from === "$index") return dig(sources.item?.index ?? null, hole.at);
  const state = stateIn(sources.nodes, hole.from);
  if (hole.part === "result") return dig(resultOf(state), hole.at);
  if (hole.part === "results") return dig((state.items ?? []).map(resultOf), hole.at);
  return state.outcome?.ok === true ? dig(state.outcome.value, hole.at) : MISSING;
}

/** Rule 3, for a SKIPPED node. */
function resultOf(state: PlaceState): Value {
  if (state.outcome !== null) return state.outcome;
  return { ok: false, error: errorOf("UPSTREAM_SKIPPED") };
}

/** Rule 11, for a task. */
export function hasBadDeadline(node: TaskNode, sources: Sources): boolean {
  if (node.goodUntil === null || typeof node.goodUntil === "string") return false;
  const until = valueOf(node.goodUntil, sources);
  if (until === OPEN) throw new Undetermined("a deadline that is open");
  return typeof until !== "string" || !INSTANT.test(until) || Number.isNaN(Date.parse(until));
}

/** ISO 8601, to the minute at least, with its offset: without one it would be another instant elsewhere. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** Rules 10 and 11: the items, or null where there is no array. */
export function itemsOf(node: EachNode, sources: Sources): readonly Value[] | null {
  const array = valueOf(node.over, sources);
  if (array === OPEN) throw new Undetermined("a fan-out over a value that is open");
  return Array.isArray(array) ? (array as readonly Value[]) : null;
}

/** Rules 16 to 18, for a run whose nodes have all ended. */
export function verdict(graph: WorkflowGraph, sources: Sources): Outcome {
  const { nodes } = sources;
  const { cases = null, optional = [] } = graph.success ?? {};
  const mattering = graph.nodes.filter(({ id }) =>
    cases === null ? !optional.includes(id) : cases.some((each) => each.includes(id)),
  );
  const failed = mattering.find(({ id }) => nodes[id]?.status === "FAILED");
  const succeeded =
    cases === null
      ? failed === undefined
      : cases.some((each) => each.every((id) => nodes[id]?.status === "COMPLETED"));
  if (succeeded) {
    return { ok: true, value: fill(graph.output, (hole) => valueOf(hole, sources)) };
  }
  if (failed === undefined) {
    return { ok: false, error: errorOf("WORKFLOW_SUCCESS_CASE_NOT_MET") };
  }
  const outcome = stateIn(nodes, failed.id).outcome;
  const error = outcome?.ok === false ? outcome.error : OPEN;
  return { ok: false, error: errorOf("WORKFLOW_FAILED", { node: failed.id, error }) };
}

export function stateIn(nodes: Nodes, id: string): NodeState {
  const state = nodes[id];
  if (state === undefined) {
    throw new Error(`expected node ${id} before those that need it, found it nowhere`);
  }
  return state;
}
