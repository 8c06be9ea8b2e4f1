/** Random workflows that are valid: a seed names a graph, its nested graphs, its input, and how every task ends. */
import { createHash } from "node:crypto";
import type { Json } from "../../src/domain/json.ts";
import type { GraphReference, WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import { expectedRun, type Graphs } from "./oracle.ts";
import type { Outcomes, RunState } from "./picture.ts";
import { GraphWriter, type Nested } from "./graph-writer.ts";
import { Random } from "./random.ts";
import { randomEnd, randomValue } from "./random-values.ts";
import { Undetermined } from "./values.ts";

export interface WorkflowCase {
  /** The name of the case in the reports of a driver. */
  readonly name: string;
  readonly graphs: Graphs;
  readonly graph: WorkflowGraph;
  readonly input: Json;
  readonly outcomes: Outcomes;
}

export interface DeterminedCase extends WorkflowCase {
  readonly expected: RunState;
}

const MOST_NODES = 12;
const DEEPEST_NESTING = 3;
/** More tasks would only be slow. */
const MOST_TASKS = 120;

/** The case of a seed, whose states do not depend on the order of ends. */
export function randomCase(seed: number): DeterminedCase {
  for (let attempt = 0; ; attempt++) {
    const drawn = drawCase(`${seed}.${attempt}`, "fail");
    const expected = expectedOrNull(drawn);
    if (expected !== null && tasksOf(expected) <= MOST_TASKS) return { ...drawn, expected };
  }
}

function expectedOrNull({ graphs, graph, input, outcomes }: WorkflowCase): RunState | null {
  try {
    return expectedRun(graphs, graph, input, outcomes);
  } catch (error) {
    if (error instanceof Undetermined) return null;
    throw error;
  }
}

/** Draws the case of a name: a graph and everything else that is random about a run. */
export function drawCase(name: string, onError: "fail" | "either"): WorkflowCase {
  const random = new Random(name);
  const graphs = new Map<string, WorkflowGraph>();
  const graph = drawGraph(random, { graphs, depth: 0, onError });
  const trouble = random.pick([0, 0.1, 0.25, 0.5]);
  const ends = random.seed();
  return {
    name,
    graphs,
    graph,
    input: randomValue(random),
    outcomes: (path) => randomEnd(new Random(`${ends}:${path}`), trouble),
  };
}

interface Drawing {
  readonly graphs: Map<string, WorkflowGraph>;
  readonly depth: number;
  readonly onError: "fail" | "either";
}

function drawGraph(random: Random, drawing: Drawing): WorkflowGraph {
  const { depth } = drawing;
  const most = depth === 0 ? MOST_NODES : Math.max(2, 6 - depth);
  const nested: Nested[] = [];
  if (depth < DEEPEST_NESTING && random.is(depth === 0 ? 0.6 : 0.4)) {
    for (let count = random.between(1, 2); count > 0; count--) {
      nested.push(drawNested(random, { ...drawing, depth: depth + 1 }));
    }
  }
  const least = random.is(0.8) ? Math.floor(most / 2) : 1;
  const writer = new GraphWriter(random, nested, random.between(least, most));
  return {
    format: 1,
    name: `random-${depth}-${random.seed()}`,
    version: random.between(1, 3),
    onError: drawing.onError === "fail" || random.is(0.4) ? "fail" : "pause",
    ...writer.write(),
  };
}

function drawNested(random: Random, drawing: Drawing): Nested {
  const graph = drawGraph(random, drawing);
  const digest = digestOf(graph);
  drawing.graphs.set(digest, graph);
  const reference: GraphReference = { name: graph.name, version: graph.version, digest };
  return { reference };
}

/** The hash of the graph's JSON with all keys in order. */
export function digestOf(graph: WorkflowGraph): string {
  return createHash("sha256").update(canonical(graph)).digest("hex");
}

function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, part]) => `${JSON.stringify(key)}:${canonical(part)}`).join(",")}}`;
}

/** How many tasks a run makes, with those of the runs nested in it. */
export function tasksOf(run: RunState): number {
  let count = 0;
  for (const node of Object.values(run.nodes)) {
    for (const place of node.items ?? [node]) {
      if (place.run !== undefined) count += tasksOf(place.run);
      else if (place.input !== undefined) count += 1;
    }
  }
  return count;
}
