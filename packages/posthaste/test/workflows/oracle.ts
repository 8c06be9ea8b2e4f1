/**
 * The state of a run when all its nodes have ended, by the rules of docs/guides/workflows.md alone. A node stands behind all
 * nodes that it needs, and its end depends only on their ends: one pass over the nodes, in order, is enough. A run that
 * pauses on errors is assumed to be resumed every time, which ends in the same states.
 */
import type { EachNode, GraphNode, WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import {
  ended,
  errorOf,
  outcomeOfItems,
  outcomeOfNested,
  outcomeOfTask,
  type NodeState,
  type Outcomes,
  type PlaceState,
  type RunState,
} from "./picture.ts";
import { chance, hasBadDeadline, holds, itemsOf, outputOfJoin, valueOf, verdict } from "./rules.ts";
import type { Sources, Startable } from "./rules.ts";
import { fill, OPEN, type Value } from "./values.ts";

/** The graphs of nested workflows, by digest. */
export type Graphs = ReadonlyMap<string, WorkflowGraph>;

export function graphIn(graphs: Graphs, digest: string): WorkflowGraph {
  const graph = graphs.get(digest);
  if (graph === undefined) throw new Error(`expected a graph of digest ${digest}, found none`);
  return graph;
}

export function expectedRun(
  graphs: Graphs,
  graph: WorkflowGraph,
  input: Value,
  outcomes: Outcomes,
): RunState {
  return new Forecast(graphs, outcomes).ofRun(graph, input, "");
}

class Forecast {
  private readonly graphs: Graphs;
  private readonly outcomes: Outcomes;

  constructor(graphs: Graphs, outcomes: Outcomes) {
    this.graphs = graphs;
    this.outcomes = outcomes;
  }

  /** `within`: the path of the node that the run is nested in, with a slash, or an empty text. */
  ofRun(graph: WorkflowGraph, input: Value, within: string): RunState {
    const nodes: Record<string, NodeState> = {};
    for (const node of graph.nodes) {
      nodes[node.id] = this.ofNode(node, { nodes, input }, within);
    }
    const outcome = verdict(graph, { nodes, input });
    return { status: outcome.ok ? "COMPLETED" : "FAILED", nodes, outcome };
  }

  private ofNode(node: GraphNode, sources: Sources, within: string): NodeState {
    if (chance(node, sources.nodes) === "lost") return SKIPPED;
    switch (node.kind) {
      case "any":
      case "quorum":
        return ended({ ok: true, value: outputOfJoin(node, sources.nodes) });
      case "when":
        return holds(node.condition, sources) ? ended({ ok: true, value: OPEN }) : SKIPPED;
      case "task":
        if (hasBadDeadline(node, sources)) return NOT_STARTED;
        return this.ofPlace(node, sources, within + node.id);
      case "workflow":
        return this.ofPlace(node, sources, within + node.id);
      case "each":
        return this.ofFanOut(node, sources, within + node.id);
    }
  }

  private ofFanOut(node: EachNode, sources: Sources, path: string): NodeState {
    const values = itemsOf(node, sources);
    if (values === null) return NOT_STARTED;
    const items = values.map((value, index) =>
      this.ofPlace(node, { ...sources, item: { value, index } }, `${path}[${index}]`),
    );
    return { ...ended(outcomeOfItems(items)), items };
  }

  /** A node or an item, with its task or its nested run. */
  private ofPlace(node: Startable, sources: Sources, path: string): PlaceState {
    const input = fill(node.input, (hole) => valueOf(hole, sources));
    if (!("workflow" in node)) return { ...ended(outcomeOfTask(this.outcomes(path))), input };
    const graph = graphIn(this.graphs, node.workflow.digest);
    const run = this.ofRun(graph, input, `${path}/`);
    return { ...ended(outcomeOfNested(run)), input, run };
  }
}

const SKIPPED: NodeState = { status: "SKIPPED", outcome: null };
/** Rule 11. */
const NOT_STARTED: NodeState = ended({ ok: false, error: errorOf("WORKFLOW_ENQUEUE_FAILED") });
