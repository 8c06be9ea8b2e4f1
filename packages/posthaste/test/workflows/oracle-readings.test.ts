/**
 * The reading of the oracle where the guide can be read in two ways, and the cases that the guide leaves open because it
 * promises no order.
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

test("a value does not equal an object that has more properties", () => {
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

test("the .results of a fan-out that never started are empty", () => {
  const graph = graphOf([each("e", output("$input")), task("b", results("e"))]);
  expect(run(graph, {}, "no array").nodes["b"]?.input).toEqual([]);
  const skipped = graphOf([task("a"), each("e", output("a")), task("b", results("e"))]);
  expect(run(skipped, { a: failed() }, null).nodes["b"]?.input).toEqual([]);
});

test("the result of a run includes the .result of an optional node that FAILED", () => {
  const more = { success: { optional: ["a"] }, output: { ok: result("a", "ok"), a: output("a") } };
  const graph = graphOf([task("a")], more);
  expect(run(graph, { a: failed() }, null).outcome).toEqual(ok({ ok: false }));
});

test.each([["March 7, 2999"], ["2999-13-01T00:00:00Z"], ["2999-01-01T00:00:00"], ["infinity"]])(
  "a node whose goodUntil is not an ISO 8601 instant with its offset is FAILED: %s",
  (value) => {
    const graph = graphOf([task("a", null, { goodUntil: output("$input") })]);
    expect(run(graph, {}, value).nodes["a"]?.status).toBe("FAILED");
  },
);

test("a fan-out is RUNNING from its start on, and its items are READY in a paused run", () => {
  const fanOut = [each("e", output("$input"))];
  expect(after(fanOut, [], [1]).nodes["e"]?.status).toBe("RUNNING");
  const paused = after(fanOut, [pause], [1]);
  expect(paused.nodes["e"]).toMatchObject({ status: "RUNNING", items: [{ status: "READY" }] });
});

test("a fan-out that would end at once is READY in a paused run, and ends with resume()", () => {
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

test("cancel() fails an item that waits in the queue with TASK_CANCELLED, and so its node", () => {
  const situation = after([each("e", output("$input"))], [end("e[0]"), cancel], [1, 2]);
  expect(situation.status).toBe("CANCELLED");
  expect(situation.nodes["e"]).toMatchObject({
    status: "FAILED",
    outcome: { error: { code: "WORKFLOW_ITEMS_FAILED" } },
    items: [{ status: "COMPLETED" }, { outcome: { error: { code: "TASK_CANCELLED" } } }],
  });
});

test("a task that completes although cancel() asked it to stop completes its node", () => {
  const situation = after([task("a")], [start("a"), cancel, end("a")]);
  expect([situation.status, ...statuses(situation)]).toEqual(["CANCELLED", "COMPLETED"]);
});

test("cancel() of a nested run fails only its node", () => {
  const nodes = [nested("n", inner), task("a", result("n"))];
  const situation = after(nodes, [{ do: "cancel", run: "n" }]);
  expect([situation.status, ...statuses(situation)]).toEqual(["RUNNING", "FAILED", "ENQUEUED"]);
});

test("retryFrom() starts a whole nested workflow over", () => {
  const history = [end("n/x"), end("n/y", failed()), retryFrom("n")];
  expect(after([nested("n", inner)], history).inLine).toEqual(["n/x"]);
});

test("retryFrom() starts all items of a following fan-out over", () => {
  const nodes = [task("a"), each("e", output("$input"), result("a"))];
  const history = [end("a", failed()), end("e[0]"), end("e[1]", failed())];
  const retried = after(nodes, [...history, retryFrom("a"), end("a")], [1, 2]);
  expect(retried.inLine).toEqual(["e[0]", "e[1]"]);
});

test("retryFrom() in a paused run resumes the whole run", () => {
  const nodes = [task("a"), task("b"), nested("n", inner)];
  const situation = after(nodes, [start("a"), pause, end("a", failed()), retryFrom("a")]);
  expect(situation.inLine).toEqual(["a", "b", "n/x"]);
});

test("the output of a quorum is open if several sources meet it in the same moment", () => {
  const nodes = [
    task("a"),
    each("e", output("a")),
    each("f", output("a")),
    quorum("q", 1, "e", "f"),
    task("b", output("q")),
  ];
  expect(after(nodes, [end("a", ok([]))]).nodes["b"]?.input).toBe(OPEN);
});

test("the start of a fan-out is open if another node fails to start in the same moment and pauses the run", () => {
  const nodes = [each("e", output("$input", "x")), each("f", output("$input"))];
  expect(() => afterPausing(nodes, [], [1])).toThrow(Undetermined);
  const tasks = [each("e", output("$input", "x")), task("a")];
  expect(statuses(afterPausing(tasks, [], [1]))).toEqual(["FAILED", "READY"]);
});

test("the effect of retryFrom() is open while a node that follows is running", () => {
  const nodes = [task("a"), task("b", result("a"))];
  const history = [end("a", failed()), start("b"), pause, retryFrom("a")];
  expect(() => after(nodes, history)).toThrow(Undetermined);
});

test("the effect of resume() on a nested run is open while the run around it is PAUSED", () => {
  const history: RunEvent[] = [pause, { do: "resume", run: "n" }];
  expect(() => after([nested("n", inner)], history)).toThrow(Undetermined);
});

test("the error of a cancelled run is open", () => {
  const { outcome } = after([task("a")], [cancel]);
  expect(outcome).toMatchObject({ ok: false, error: { code: OPEN } });
  expect(after([task("a")], [end("a", CANCELLED)]).status).toBe("FAILED");
});
