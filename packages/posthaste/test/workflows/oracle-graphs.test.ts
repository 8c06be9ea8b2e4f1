/** Random graphs are valid, and cover every kind of node, state, error and event. */
import { expect, test } from "vitest";
import type { Filled, GraphNode, Hole, WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import { expectedAfter } from "./oracle-sequence.ts";
import type { PlaceState, RunState } from "./picture.ts";
import { digestOf, randomCase, type WorkflowCase } from "./random-graphs.ts";
import { randomHistory } from "./random-histories.ts";
import { hasOpenParts } from "./values.ts";

const cases = Array.from({ length: 300 }, (_, seed) => randomCase(seed));
const histories = Array.from({ length: 100 }, (_, seed) => randomHistory(seed));

function graphsOf({ graph, graphs }: WorkflowCase): WorkflowGraph[] {
  return [graph, ...graphs.values()];
}

function holesOf(node: GraphNode): readonly Hole[] {
  const input = "input" in node ? node.input.holes : [];
  if (node.kind === "when") return [node.condition.value];
  if (node.kind === "each") return [node.over, ...input];
  const until = node.kind === "task" ? node.goodUntil : null;
  return typeof until === "object" && until !== null ? [until, ...input] : input;
}

/** The part of the template at the place of a hole: null. */
function templateAt({ template }: Filled, hole: Hole): unknown {
  let part: unknown = template;
  for (const key of hole.path) part = (part as Record<string | number, unknown>)[key];
  return part;
}

test("randomCase() and randomHistory() make the same case from the same seed", () => {
  const [one, other] = [randomCase(7), randomCase(7)];
  expect(JSON.stringify(one)).toBe(JSON.stringify(other));
  expect(one.outcomes("a/b[1]")).toEqual(other.outcomes("a/b[1]"));
  expect(randomHistory(7).history).toEqual(randomHistory(7).history);
});

test("random graphs have at most 12 nodes, every node after its needs, and a need for every hole", () => {
  for (const graph of [...cases, ...histories].flatMap(graphsOf)) {
    expect(problemsOf(graph)).toEqual([]);
  }
});

function problemsOf({ nodes, output }: WorkflowGraph): string[] {
  const problems = nodes.length > 12 ? [`${nodes.length} nodes`] : [];
  const before = new Set<string>();
  for (const node of nodes) {
    const needs = new Map(node.needs.map((need) => [need.node, need.accepts]));
    if (needs.size !== node.needs.length) problems.push(`${node.id} needs something twice`);
    if (before.has(node.id)) problems.push(`${node.id} is there twice`);
    if ([...needs.keys()].some((id) => !before.has(id))) problems.push(`${node.id} is too early`);
    for (const { from, part } of holesOf(node).filter(isOfNode)) {
      const accepts = needs.get(from);
      const isNeeded = part === "output" ? accepts === "success" : accepts !== undefined;
      if (!isNeeded) problems.push(`${node.id} uses ${from} without needing it`);
    }
    if ("input" in node) problems.push(...misplacedHoles(node.input));
    const isJoin = node.kind === "any" || node.kind === "quorum";
    if (!isJoin && node.required !== needs.size)
      problems.push(`${node.id} requires ${node.required}`);
    before.add(node.id);
  }
  const unknown = output.holes.filter((hole) => isOfNode(hole) && !before.has(hole.from));
  return [...problems, ...unknown.map(({ from }) => `no ${from}`), ...misplacedHoles(output)];
}

function isOfNode({ from }: Hole): boolean {
  return !["$input", "$item", "$index"].includes(from);
}

function misplacedHoles(filled: Filled): string[] {
  const misplaced = filled.holes.filter((hole) => templateAt(filled, hole) !== null);
  return misplaced.map(({ path }) => `no null at ${path.join(".")}`);
}

test("a random case has all its nested graphs, under their digests", () => {
  for (const each of cases) {
    const digests = [...each.graphs.values()].map(digestOf);
    expect([...each.graphs.keys()]).toEqual(digests);
    const used = graphsOf(each)
      .flatMap(({ nodes }) => nodes)
      .flatMap((node) => ("workflow" in node ? [node.workflow.digest] : []));
    expect(used.filter((digest) => !digests.includes(digest))).toEqual([]);
  }
});

const MUST_HAPPEN = [
  "run COMPLETED",
  "run FAILED",
  "WORKFLOW_FAILED",
  "WORKFLOW_SUCCESS_CASE_NOT_MET",
  "WORKFLOW_ITEMS_FAILED",
  "WORKFLOW_ENQUEUE_FAILED",
  "SUBWORKFLOW_FAILED",
  "TASK_EXPIRED",
  "TASK_CANCELLED",
  "UPSTREAM_SKIPPED in an input",
  "an input with an open part",
  "0 items",
  "4 items",
  "an item with a nested run",
  "nested 3 deep",
  ...["task", "workflow", "each", "any", "quorum", "when"].flatMap((kind) => [
    `${kind} COMPLETED`,
    `${kind} SKIPPED`,
  ]),
  ...["task", "workflow", "each"].map((kind) => `${kind} FAILED`),
];

test("random cases cover every kind in every state, every error, nesting and fan-outs of every size", () => {
  const happened = new Set<string>();
  const note = (what: string): void => void happened.add(what);
  const kindsOf = ({ nodes }: WorkflowGraph): Map<string, string> =>
    new Map(nodes.map(({ id, kind }) => [id, kind]));
  const noteRun = (each: WorkflowCase, graph: WorkflowGraph, run: RunState, depth: number) => {
    note(`run ${run.status}`);
    if (depth === 3) note("nested 3 deep");
    noteCode(run, note);
    for (const node of graph.nodes) {
      const state = run.nodes[node.id];
      if (state === undefined) continue;
      note(`${kindsOf(graph).get(node.id)} ${state.status}`);
      if (state.items !== undefined) note(`${state.items.length} items`);
      for (const place of [state, ...(state.items ?? [])]) {
        notePlace(place, note);
        if (place !== state && place.run !== undefined) note("an item with a nested run");
        const inner = "workflow" in node ? each.graphs.get(node.workflow.digest) : undefined;
        if (place.run && inner) noteRun(each, inner, place.run, depth + 1);
      }
    }
  };
  for (const each of cases) noteRun(each, each.graph, each.expected, 0);
  expect(MUST_HAPPEN.filter((what) => !happened.has(what))).toEqual([]);
});

function noteCode(of: Pick<RunState, "outcome">, note: (what: string) => void): void {
  if (of.outcome?.ok === false) note((of.outcome.error as { readonly code: string }).code);
}

function notePlace(place: PlaceState, note: (what: string) => void): void {
  noteCode(place, note);
  if (place.input === undefined) return;
  if (hasOpenParts(place.input)) note("an input with an open part");
  const text = JSON.stringify([place.input]);
  if (text.includes("UPSTREAM_SKIPPED")) note("UPSTREAM_SKIPPED in an input");
}

test("random histories cover every event of root and nested runs, and every end of a run", () => {
  const happened = new Set<string>();
  for (const each of histories) {
    for (const event of each.history) {
      happened.add("run" in event && event.run !== "" ? `${event.do}, nested` : event.do);
    }
    happened.add(expectedAfter(each, each.history).status);
  }
  const onRuns = ["pause", "resume", "cancel", "retryFrom"];
  const expected = ["start", "end", ...onRuns, ...onRuns.map((event) => `${event}, nested`)];
  const missing = [...expected, "COMPLETED", "FAILED", "CANCELLED"].filter(
    (what) => !happened.has(what),
  );
  expect(missing).toEqual([]);
});
