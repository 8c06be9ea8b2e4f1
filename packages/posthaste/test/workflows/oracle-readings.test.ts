/**
 * Where the guide can be read in two ways: how the oracle reads it, as somebody would who uses it. And what it leaves open,
 * because no order is promised.
 */
import { expect, test } from "vitest";
import type { Json } from "../../src/domain/json.ts";
import type { GraphNode, WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import {
  CANCELLED,
  each,
  ends,
  failed,
  graphOf,
  nested,
  ok,
  output,
  quorum,
  result,
  results,
  task,
  when,
} from "./hand-written.ts";
import { expectedRun } from "./oracle.ts";
import { expectedAfter, type RunEvent, type Situation } from "./oracle-sequence.ts";
import type { RunState, TaskEnd } from "./picture.ts";
import { digestOf } from "./random-graphs.ts";
import { OPEN, Undetermined } from "./values.ts";

const start = (name: string): RunEvent => ({ do: "start", task: name });
const end = (name: string, outcome: TaskEnd = ok(name)): RunEvent => {
  return { do: "end", task: name, outcome };
};
const retryFrom = (node: string): RunEvent => ({ do: "retryFrom", run: "", node });
const pause: RunEvent = { do: "pause", run: "" };
const resume: RunEvent = { do: "resume", run: "" };
const cancel: RunEvent = { do: "cancel", run: "" };

const inner = graphOf([task("x"), task("y", output("x"))]);
const pausingInner = graphOf([task("x"), task("y")], { onError: "pause" });
const graphs = new Map([inner, pausingInner].map((graph) => [digestOf(graph), graph]));

function run(graph: WorkflowGraph, named: { [path: string]: TaskEnd }, input: Json): RunState {
  return expectedRun(graphs, graph, input, ends(named));
}

function after(nodes: readonly GraphNode[], history: RunEvent[], input: Json = null): Situation {
  return expectedAfter({ graphs, graph: graphOf(nodes), input }, history);
}

const afterPausing = (nodes: readonly GraphNode[], history: RunEvent[], input: Json): Situation => {
  return expectedAfter({ graphs, graph: graphOf(nodes, { onError: "pause" }), input }, history);
};

const statuses = ({ nodes }: Pick<Situation, "nodes">): string[] =>
  Object.values(nodes).map(({ status }) => status);

test("a missing value equals nothing, not even null", () => {
  const graph = graphOf([when("$when1", output("$input", "x"), { equals: null })]);
  expect(run(graph, {}, {}).nodes["$when1"]?.status).toBe("SKIPPED");
  expect(run(graph, {}, { x: null }).nodes["$when1"]?.status).toBe("COMPLETED");
});

test("a value equals no object that has more in it", () => {
  const graph = graphOf([when("$when1", output("$input"), { equals: { x: 1, y: 2 } })]);
  expect(run(graph, {}, { x: 1 }).nodes["$when1"]?.status).toBe("SKIPPED");
});

test("a condition on .result is decided however the source ended", () => {
  const graph = graphOf([task("a"), when("$when1", result("a", "ok"), { negated: true })]);
  expect(run(graph, { a: failed() }, null).nodes["$when1"]?.status).toBe("COMPLETED");
});

test("an input or a result that is missing as a whole is null", () => {
  const graph = graphOf([task("a", output("$input", "x"))], { output: output("a", "y") });
  expect(run(graph, {}, {})).toMatchObject({ nodes: { a: { input: null } }, outcome: ok(null) });
});

test("the .results of a fan-out that has no items, because it never started, are none", () => {
  const graph = graphOf([each("e", output("$input")), task("b", results("e"))]);
  expect(run(graph, {}, "no array").nodes["b"]?.input).toEqual([]);
  const skipped = graphOf([task("a"), each("e", output("a")), task("b", results("e"))]);
  expect(run(skipped, { a: failed() }, null).nodes["b"]?.input).toEqual([]);
});

test("a run results in the .result of an optional node that FAILED, too", () => {
  const more = { success: { optional: ["a"] }, output: { ok: result("a", "ok"), a: output("a") } };
  const graph = graphOf([task("a")], more);
  expect(run(graph, { a: failed() }, null).outcome).toEqual(ok({ ok: false }));
});

test.each([["March 7, 2999"], ["2999-13-01T00:00:00Z"], ["2999-01-01T00:00:00"], ["infinity"]])(
  "an instant is ISO 8601 with its offset, and exists: %s is none",
  (value) => {
    const graph = graphOf([task("a", null, { goodUntil: output("$input") })]);
    expect(run(graph, {}, value).nodes["a"]?.status).toBe("FAILED");
  },
);

test("a fan-out is RUNNING from its start on, in a paused run with items that are READY", () => {
  const fanOut = [each("e", output("$input"))];
  expect(after(fanOut, [], [1]).nodes["e"]?.status).toBe("RUNNING");
  const paused = after(fanOut, [pause], [1]);
  expect(paused.nodes["e"]).toMatchObject({ status: "RUNNING", items: [{ status: "READY" }] });
});

test("what would end at once is READY in a paused run, and ends with resume()", () => {
  const nodes = [task("a"), each("e", output("a")), each("f", output("a", "x"))];
  const history = [start("a"), pause, end("a", ok([]))];
  expect(statuses(after(nodes, history))).toEqual(["COMPLETED", "READY", "READY"]);
  expect(statuses(after(nodes, [...history, resume]))).toEqual([
    "COMPLETED",
    "COMPLETED",
    "FAILED",
  ]);
});

test("resume() reaches nested runs that had paused by themselves", () => {
  const nodes = [nested("n", pausingInner)];
  const situation = after(nodes, [end("n/x", failed()), pause, resume]);
  expect(situation.nodes["n"]?.run?.status).toBe("RUNNING");
});

test("cancel(): an item that waits in the line is FAILED with TASK_CANCELLED, and so its node FAILED", () => {
  const situation = after([each("e", output("$input"))], [end("e[0]"), cancel], [1, 2]);
  expect(situation.status).toBe("CANCELLED");
  expect(situation.nodes["e"]).toMatchObject({
    status: "FAILED",
    outcome: { error: { code: "WORKFLOW_ITEMS_FAILED" } },
    items: [{ status: "COMPLETED" }, { outcome: { error: { code: "TASK_CANCELLED" } } }],
  });
});

test("cancel(): a task that was asked to stop and is COMPLETED all the same completes its node", () => {
  const situation = after([task("a")], [start("a"), cancel, end("a")]);
  expect([situation.status, ...statuses(situation)]).toEqual(["CANCELLED", "COMPLETED"]);
});

test("cancel() of a nested run fails its node, and no more", () => {
  const nodes = [nested("n", inner), task("a", result("n"))];
  const situation = after(nodes, [{ do: "cancel", run: "n" }]);
  expect([situation.status, ...statuses(situation)]).toEqual(["RUNNING", "FAILED", "ENQUEUED"]);
});

test("retryFrom() of a nested workflow starts it over, all of it", () => {
  const history = [end("n/x"), end("n/y", failed()), retryFrom("n")];
  expect(after([nested("n", inner)], history).inLine).toEqual(["n/x"]);
});

test("retryFrom(): a fan-out that follows starts over, all of it", () => {
  const nodes = [task("a"), each("e", output("$input"), result("a"))];
  const history = [end("a", failed()), end("e[0]"), end("e[1]", failed())];
  const retried = after(nodes, [...history, retryFrom("a"), end("a")], [1, 2]);
  expect(retried.inLine).toEqual(["e[0]", "e[1]"]);
});

test("retryFrom() in a paused run resumes all of it", () => {
  const nodes = [task("a"), task("b"), nested("n", inner)];
  const situation = after(nodes, [start("a"), pause, end("a", failed()), retryFrom("a")]);
  expect(situation.inLine).toEqual(["a", "b", "n/x"]);
});

test("open: the quorum that sources meet in the same moment", () => {
  const nodes = [
    task("a"),
    each("e", output("a")),
    each("f", output("a")),
    quorum("q", 1, "e", "f"),
    task("b", output("q")),
  ];
  expect(after(nodes, [end("a", ok([]))]).nodes["b"]?.input).toBe(OPEN);
});

test("open: what starts in the moment in which a node cannot be started, where errors pause", () => {
  const nodes = [each("e", output("$input", "x")), each("f", output("$input"))];
  expect(() => afterPausing(nodes, [], [1])).toThrow(Undetermined);
  const tasks = [each("e", output("$input", "x")), task("a")];
  expect(statuses(afterPausing(tasks, [], [1]))).toEqual(["FAILED", "READY"]);
});

test("open: retryFrom() while a node that follows is running", () => {
  const nodes = [task("a"), task("b", result("a"))];
  const history = [end("a", failed()), start("b"), pause, retryFrom("a")];
  expect(() => after(nodes, history)).toThrow(Undetermined);
});

test("open: a nested run that is resumed while the one around it is PAUSED", () => {
  const history: RunEvent[] = [pause, { do: "resume", run: "n" }];
  expect(() => after([nested("n", inner)], history)).toThrow(Undetermined);
});

test("open: the error of a run that was cancelled", () => {
  const { outcome } = after([task("a")], [cancel]);
  expect(outcome).toMatchObject({ ok: false, error: { code: OPEN } });
  expect(after([task("a")], [end("a", CANCELLED)]).status).toBe("FAILED");
});
