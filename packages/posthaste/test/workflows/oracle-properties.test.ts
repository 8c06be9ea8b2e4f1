/** Properties that follow from the rules of workflows, checked on random runs. A failure names the seed of its case. */
import { expect, test, vi } from "vitest";
import type { GraphNode, WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import {
  NODE_TERMINAL_STATES,
  WORKFLOW_TERMINAL_STATES,
} from "../../src/domain/workflow-lifecycle.ts";
import { differences } from "./compare.ts";
import { expectedRun } from "./oracle.ts";
import { Sequence } from "./oracle-sequence.ts";
import type { RunState, TaskEnd } from "./picture.ts";
import { Random } from "./random.ts";
import { drawCase, randomCase, type DeterminedCase } from "./random-graphs.ts";
import { randomHistory, runsIn } from "./random-histories.ts";
import { randomEnd } from "./random-values.ts";
import { Undetermined } from "./values.ts";

// The tests take a second on an idle machine.
vi.setConfig({ testTimeout: 60_000 });

const CASES = 150;
const seeds = Array.from({ length: CASES }, (_, seed) => seed);
const cases = seeds.map(randomCase);

/** Every run of a case with its graph, also the nested runs. */
function runsOf({ graphs, graph, expected }: DeterminedCase): [WorkflowGraph, RunState][] {
  const found: [WorkflowGraph, RunState][] = [];
  const visit = (of: WorkflowGraph, run: RunState): void => {
    found.push([of, run]);
    for (const node of of.nodes) {
      const inner = "workflow" in node ? graphs.get(node.workflow.digest) : undefined;
      const state = run.nodes[node.id];
      for (const place of state?.items ?? [state]) {
        if (inner !== undefined && place?.run !== undefined) visit(inner, place.run);
      }
    }
  };
  visit(graph, expected);
  return found;
}

function forEveryRun(check: (graph: WorkflowGraph, run: RunState, seed: number) => void): void {
  for (const [seed, each] of cases.entries()) {
    for (const [graph, run] of runsOf(each)) check(graph, run, seed);
  }
}

test("every node of an ended run has ended", () => {
  forEveryRun((graph, run, seed) => {
    expect(Object.keys(run.nodes), `seed ${seed}`).toEqual(graph.nodes.map(({ id }) => id));
    const open = Object.values(run.nodes).filter(
      ({ status }) => !NODE_TERMINAL_STATES.includes(status),
    );
    expect(open, `seed ${seed}`).toEqual([]);
  });
});

test("a run without cases is COMPLETED exactly if no node FAILED except optional ones", () => {
  forEveryRun((graph, run, seed) => {
    if (graph.success?.cases) return;
    const optional = graph.success?.optional ?? [];
    const failed = graph.nodes.filter(
      ({ id }) => run.nodes[id]?.status === "FAILED" && !optional.includes(id),
    );
    expect(run.status, `seed ${seed}`).toBe(failed.length === 0 ? "COMPLETED" : "FAILED");
  });
});

test("a node is SKIPPED exactly if its needs became impossible, or if it is a condition that did not hold", () => {
  forEveryRun((graph, run, seed) => {
    const isLost = (need: GraphNode["needs"][number]): boolean =>
      need.accepts === "success" && run.nodes[need.node]?.status !== "COMPLETED";
    for (const node of graph.nodes) {
      const lost = node.needs.filter(isLost).length;
      const isImpossible = node.needs.length - lost < node.required;
      const isSkipped = run.nodes[node.id]?.status === "SKIPPED";
      if (isImpossible) expect(isSkipped, `seed ${seed}, ${node.id}`).toBe(true);
      else if (isSkipped) expect(node.kind, `seed ${seed}, ${node.id}`).toBe("when");
    }
  });
});

test("the removal of a node that no other needs changes no other node", () => {
  let removed = 0;
  for (const [seed, { graphs, graph, input, outcomes, expected }] of cases.entries()) {
    const inUse = [
      ...graph.nodes.flatMap(({ needs }) => needs.map(({ node }) => node)),
      ...graph.output.holes.map(({ from }) => from),
      ...(graph.success?.cases ?? []).flat(),
    ];
    const leaf = graph.nodes.find(({ id }) => !inUse.includes(id));
    if (leaf === undefined) continue;
    removed += 1;
    const nodes = graph.nodes.filter((node) => node !== leaf);
    const without = expectedRun(graphs, { ...graph, nodes }, input, outcomes);
    const { [leaf.id]: _, ...others } = expected.nodes;
    expect(without.nodes, `seed ${seed}`).toEqual(others);
  }
  expect(removed).toBeGreaterThan(CASES / 2);
});

/** Begins and ends random tasks until none is left, and now and then pauses the run for a moment. */
function drive(sequence: Sequence, random: Random, ends: (path: string) => TaskEnd): void {
  for (;;) {
    const { inLine, begun } = sequence.situation;
    if (inLine.length + begun.length === 0) return;
    const task = random.pick([...inLine, ...begun]);
    if (inLine.includes(task) && random.is(0.5)) sequence.apply({ do: "start", task });
    else sequence.apply({ do: "end", task, outcome: ends(task) });
    if (random.is(0.2)) pauseAndResume(sequence, random);
  }
}

function pauseAndResume(sequence: Sequence, random: Random): void {
  if (sequence.root.hasEnded) return;
  sequence.apply({ do: "pause", run: "" });
  const { begun } = sequence.situation;
  if (begun.length > 0 && random.is(0.5)) sequence.apply({ do: "start", task: begun[0] ?? "" });
  sequence.apply({ do: "resume", run: "" });
}

test("the states of a run depend neither on the order in which tasks end nor on pauses", () => {
  for (const [seed, { expected, outcomes, ...workflow }] of cases.entries()) {
    const sequence = new Sequence(workflow);
    drive(sequence, new Random(seed), outcomes);
    expect(differences(expected, sequence.situation), `seed ${seed}`).toEqual([]);
  }
});

test("a run that pauses on errors and is resumed every time ends in the same states", () => {
  let paused = 0;
  for (const seed of seeds) {
    const { outcomes, ...workflow } = drawCase(`pausing ${seed}`, "either");
    const sequence = sequenceOrNull(() => {
      const drawn = new Sequence(workflow);
      for (const random = new Random(seed); !drawn.root.hasEnded;) {
        drive(drawn, random, outcomes);
        const stopped = runsIn(drawn.situation, "").filter(({ run }) => run.status === "PAUSED");
        if (stopped.length > 0) paused += 1;
        const [first] = stopped;
        if (first !== undefined) drawn.apply({ do: "resume", run: first.path });
      }
      return drawn;
    });
    if (sequence === null) continue;
    const { graphs, graph, input } = workflow;
    const expected = sequenceOrNull(() => expectedRun(graphs, graph, input, outcomes));
    if (expected === null) continue;
    expect(differences(expected, sequence.situation), `seed ${seed}`).toEqual([]);
  }
  expect(paused).toBeGreaterThan(CASES / 10);
});

test("a run that is retried from its failed nodes ends as if the last ends had been the only ones", () => {
  let retried = 0;
  for (const [seed, { outcomes, expected: _, ...workflow }] of cases.entries()) {
    const last = new Map<string, TaskEnd>();
    const random = new Random(seed);
    const sequence = new Sequence(workflow);
    const noting = (ends: (path: string) => TaskEnd) => (path: string) => {
      const end = ends(path);
      last.set(path, end);
      return end;
    };
    drive(sequence, random, noting(outcomes));
    const determined = sequenceOrNull(() => {
      for (let times = 0; times < 4 && sequence.situation.status === "FAILED"; times++) {
        const { nodes } = sequence.situation;
        const failed = Object.keys(nodes).filter((id) => nodes[id]?.status === "FAILED");
        // No case was met, though nothing failed.
        if (failed.length === 0) break;
        sequence.apply({ do: "retryFrom", run: "", node: random.pick(failed) });
        retried += 1;
        drive(
          sequence,
          random,
          noting(() => randomEnd(random, 0.2)),
        );
      }
      const { graphs, graph, input } = workflow;
      return expectedRun(graphs, graph, input, (path) => last.get(path) ?? MUST_NOT_RUN);
    });
    if (determined === null) continue;
    expect(differences(determined, sequence.situation), `seed ${seed}`).toEqual([]);
  }
  expect(retried).toBeGreaterThan(CASES / 4);
});

const MUST_NOT_RUN: TaskEnd = { ok: true, value: "a task that never ran" };

function sequenceOrNull<T>(make: () => T): T | null {
  try {
    return make();
  } catch (error) {
    if (error instanceof Undetermined) return null;
    throw error;
  }
}

test("after every event, ended runs have only ended nodes, and paused or cancelled runs have no task in the queue", () => {
  for (const seed of seeds.slice(0, 100)) {
    const { history, ...workflow } = randomHistory(seed);
    const sequence = new Sequence(workflow);
    for (const [index, event] of history.entries()) {
      sequence.apply(event);
      const { situation } = sequence;
      for (const { path, run } of runsIn(situation, "")) {
        const about = `seed ${seed}, after event ${index}, run "${path}"`;
        const open = Object.values(run.nodes).filter(
          ({ status }) => !NODE_TERMINAL_STATES.includes(status),
        );
        if (WORKFLOW_TERMINAL_STATES.includes(run.status)) expect(open, about).toEqual([]);
        else if (open.length === 0) expect(run.status, about).toBe("PAUSED");
        const mayNotStart = run.status === "PAUSED" || run.isCancelling === true;
        const within = situation.inLine.filter((task) => task.startsWith(path));
        if (mayNotStart || WORKFLOW_TERMINAL_STATES.includes(run.status))
          expect(within, about).toEqual([]);
      }
    }
  }
});
