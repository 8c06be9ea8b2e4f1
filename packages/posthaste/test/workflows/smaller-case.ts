/** Makes a case that fails smaller as long as it still fails, so that a person can read it. */
import type { Filled, GraphNode, WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import type { WorkflowCase } from "./random-graphs.ts";

export async function smallestCase<Case extends WorkflowCase>(
  failing: Case,
  stillFails: (smaller: Case) => Promise<boolean>,
): Promise<Case> {
  for (const graph of smallerGraphs(failing.graph)) {
    const smaller = { ...failing, graph };
    if (await stillFails(smaller)) return smallestCase(smaller, stillFails);
  }
  return failing;
}

function smallerGraphs(graph: WorkflowGraph): WorkflowGraph[] {
  const needed = new Set(graph.nodes.flatMap(({ needs }) => needs.map(({ node }) => node)));
  const leaves = graph.nodes.filter(({ id }) => !needed.has(id));
  return [
    ...(graph.nodes.length > 1 ? leaves.map((leaf) => without(graph, leaf)) : []),
    ...(graph.success === null ? [] : [{ ...graph, success: null }]),
    ...graph.output.holes.map((hole) => ({
      ...graph,
      output: withoutFrom(graph.output, hole.from),
    })),
  ];
}

function without(graph: WorkflowGraph, leaf: GraphNode): WorkflowGraph {
  const others = (ids: readonly string[]): string[] => ids.filter((id) => id !== leaf.id);
  const cases = graph.success?.cases?.map(others).filter((ids) => ids.length > 0) ?? [];
  const success = graph.success && {
    cases: cases.length === 0 ? null : cases,
    optional: others(graph.success.optional),
  };
  return {
    ...graph,
    success,
    nodes: graph.nodes.filter((node) => node !== leaf),
    output: withoutFrom(graph.output, leaf.id),
  };
}

/** The template has null where a hole was. */
function withoutFrom(filled: Filled, id: string): Filled {
  return { ...filled, holes: filled.holes.filter(({ from }) => from !== id) };
}
