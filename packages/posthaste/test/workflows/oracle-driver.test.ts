/** The driver finds errors: it drives the oracle itself as an engine, correct and with one rule broken. */
import { expect, test, vi } from "vitest";
import type { ReadRun } from "./compare.ts";
import { driveHistories, driveToEnd, type Engine, type EventEngine } from "./drive.ts";
import { Sequence, type RunEvent } from "./oracle-sequence.ts";
import { expectedRun } from "./oracle.ts";
import type { RunState } from "./picture.ts";
import { Random } from "./random.ts";
import { randomCase, type WorkflowCase } from "./random-graphs.ts";
import { randomHistory } from "./random-histories.ts";
import { smallestCase } from "./smaller-case.ts";
import { readCase, writeCase } from "./written-case.ts";

/** The oracle as an engine, step by step. `read` may break a rule in the states that it returns. */
class ModelEngine implements Engine, EventEngine {
  private sequences: Sequence[] = [];
  private readonly read: (state: RunState) => ReadRun;

  constructor(read: (state: RunState) => ReadRun = (state) => state) {
    this.read = read;
  }

  async start(cases: readonly WorkflowCase[]): Promise<void> {
    this.sequences = cases.map((each) => new Sequence(each));
  }

  async inLine(): ReturnType<Engine["inLine"]> {
    return this.sequences.flatMap(({ situation }, run) =>
      situation.inLine.map((path) => ({ run, path })),
    );
  }

  async endTasks(batch: Parameters<Engine["endTasks"]>[0]): Promise<void> {
    for (const { run, path, end } of batch) {
      this.sequences[run]?.apply({ do: "end", task: path, outcome: end });
    }
  }

  async readStates(): Promise<readonly ReadRun[]> {
    return this.sequences.map(({ situation }) => this.read(situation));
  }

  async apply(events: readonly (RunEvent & { readonly of: number })[]): Promise<void> {
    for (const { of, ...event } of events) this.sequences[of]?.apply(event);
  }
}

/** Reports a fan-out with a failed item as COMPLETED. */
function withForgottenItems(state: RunState): ReadRun {
  const nodes = Object.entries(state.nodes).map(([id, node]) => {
    const hasFailedItem = node.items?.some(({ status }) => status === "FAILED") === true;
    return [id, hasFailedItem ? { ...node, status: "COMPLETED" } : node] as const;
  });
  return { ...state, nodes: Object.fromEntries(nodes) };
}

// The tests take a second on an idle machine.
vi.setConfig({ testTimeout: 60_000 });

const seeds = Array.from({ length: 50 }, (_, seed) => seed);

test("driveToEnd() finds no difference in an engine that keeps the rules", async () => {
  const cases = seeds.map(randomCase);
  expect(await driveToEnd(new ModelEngine(), cases, new Random(1))).toEqual([]);
});

test("driveToEnd() reports a broken rule with its case, its place and the expected status", async () => {
  const cases = seeds.map(randomCase);
  const found = await driveToEnd(new ModelEngine(withForgottenItems), cases, new Random(1));
  expect(found.length).toBeGreaterThan(0);
  expect(found[0]).toMatch(/^case \d+\.\d, at the end: \w: expected FAILED, found COMPLETED$/);
});

test("driveHistories() finds no difference in an engine that keeps the rules", async () => {
  const cases = seeds.map(randomHistory);
  expect(await driveHistories(new ModelEngine(), cases)).toEqual([]);
});

test("driveHistories() reports a broken rule after the event that shows it", async () => {
  const cases = seeds.map(randomHistory);
  const found = await driveHistories(new ModelEngine(withForgottenItems), cases);
  // Items of nested runs can fail at the start, all others fail with the end of a task.
  const afterEnds = found.filter((line) => line.includes('h, after {"do":"end"'));
  expect(afterEnds.length).toBeGreaterThan(0);
  expect(afterEnds[0]).toMatch(/: expected (?:FAILED|RUNNING), found COMPLETED$/);
});

test("smallestCase() reduces a failing case to a fan-out and its needs", async () => {
  const fails = async (each: WorkflowCase): Promise<boolean> => {
    const sequence = new Sequence(each);
    for (let tasks = sequence.situation.inLine; tasks.length > 0;) {
      for (const task of tasks) {
        sequence.apply({ do: "end", task, outcome: each.outcomes(task) });
      }
      tasks = sequence.situation.inLine;
    }
    const { nodes } = sequence.situation;
    return Object.values(nodes).some(({ items = [] }) =>
      items.some(({ status }) => status === "FAILED"),
    );
  };
  const failing = [];
  for (const each of seeds.map(randomCase)) if (await fails(each)) failing.push(each);
  const smallest = await Promise.all(failing.map((each) => smallestCase(each, fails)));
  for (const { graph, name } of smallest) expect(graph.nodes.at(-1)?.kind, name).toBe("each");
  const sizes = smallest.map(({ graph }) => graph.nodes.length);
  expect(Math.min(...sizes)).toBe(1);
});

test("readCase() reads the case that writeCase() wrote", () => {
  for (const each of seeds.map(randomCase)) {
    const { graphs, graph, input, outcomes } = readCase(writeCase(each));
    expect(expectedRun(graphs, graph, input, outcomes), each.name).toEqual(each.expected);
  }
});
