/** A case as text, to be kept: the case of a seed changes with the generator. */
import type { Json } from "../../src/domain/json.ts";
import type { WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import type { PlaceState, RunState, TaskEnd } from "./picture.ts";
import type { DeterminedCase, WorkflowCase } from "./random-graphs.ts";

interface WrittenCase {
  readonly name: string;
  readonly graph: WorkflowGraph;
  readonly graphs: readonly (readonly [string, WorkflowGraph])[];
  readonly input: Json;
  /** The ends of all tasks that run, by path. */
  readonly ends: { readonly [path: string]: TaskEnd };
}

export function writeCase({ name, graph, graphs, input, ...rest }: DeterminedCase): string {
  const paths = taskPaths(rest.expected, "");
  const ends = Object.fromEntries(paths.map((path) => [path, rest.outcomes(path)]));
  const written: WrittenCase = { name, graph, graphs: [...graphs], input, ends };
  return JSON.stringify(written, null, 2);
}

export function readCase(text: string): WorkflowCase {
  const { ends, graphs, ...written } = JSON.parse(text) as WrittenCase;
  const outcomes = (path: string): TaskEnd => {
    const end = ends[path];
    if (end === undefined) throw new Error(`expected no task at ${path}, found one that runs`);
    return end;
  };
  return { ...written, graphs: new Map(graphs), outcomes };
}

function taskPaths(run: RunState, within: string): string[] {
  return Object.entries(run.nodes).flatMap(([id, node]) => {
    const items = node.items?.map((item, index): [string, PlaceState] => [`[${index}]`, item]);
    return (items ?? [["", node]]).flatMap(([suffix, place]) => {
      const path = within + id + suffix;
      if (place.run !== undefined) return taskPaths(place.run, `${path}/`);
      return place.input === undefined ? [] : [path];
    });
  });
}
