/** The oracle against the rules of docs/guides/workflows.md about order: the state of a run after each event. */
import { expect, test } from "vitest";
import type { Json } from "../../src/domain/json.ts";
import type { WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import {
  anyOf,
  CANCELLED,
  each,
  failed,
  graphOf,
  nested,
  ok,
  output,
  quorum,
  result,
  task,
  when,
} from "./hand-written.ts";
import { expectedAfter, type RunEvent, type Situation } from "./oracle-sequence.ts";
import type { TaskEnd } from "./picture.ts";
import { digestOf } from "./random-graphs.ts";

const start = (name: string): RunEvent => ({ do: "start", task: name });
const end = (name: string, outcome: TaskEnd = ok(name)): RunEvent => {
  return { do: "end", task: name, outcome };
};
const onRun = (what: "pause" | "resume" | "cancel", run = ""): RunEvent => ({ do: what, run });
const retryFrom = (node: string): RunEvent => ({ do: "retryFrom", run: "", node });
const [pause, resume, cancel] = [onRun("pause"), onRun("resume"), onRun("cancel")];

function after(graph: WorkflowGraph, history: RunEvent[], input: Json = null): Situation {
  return expectedAfter({ graphs: new Map(), graph, input }, history);
}

function afterNested(inner: WorkflowGraph, graph: WorkflowGraph, history: RunEvent[]): Situation {
  const graphs = new Map([[digestOf(inner), inner]]);
  return expectedAfter({ graphs, graph, input: null }, history);
}

/** The run's status, and those of its nodes. */
function seen({ status, nodes }: Pick<Situation, "status" | "nodes">): string {
  const states = Object.entries(nodes).map(([id, state]) => `${id} ${state.status}`);
  return [status, ...states].join(", ");
}

const chain = [task("a"), task("b", output("a"))];
const pausing = graphOf([task("a"), task("b"), task("c", result("a")), task("d", output("a"))], {
  onError: "pause",
});

test("1: a node that needs nothing starts with the run", () => {
  const situation = after(graphOf(chain), []);
  expect(seen(situation)).toBe("RUNNING, a ENQUEUED, b PENDING");
  expect(situation.inLine).toEqual(["a"]);
  expect(after(graphOf(chain), [end("a")]).inLine).toEqual(["b"]);
});

test("2: a join is SKIPPED as soon as it has become impossible, while other sources still run", () => {
  const sources = [task("a"), task("b"), task("c")];
  const graph = graphOf([...sources, quorum("q", 2, "a", "b", "c"), task("d", output("q"))]);
  const one = [end("a", failed())];
  expect(seen(after(graph, one))).toMatch("c ENQUEUED, q PENDING, d PENDING");
  const two = [...one, end("b", CANCELLED)];
  expect(seen(after(graph, two))).toMatch("c ENQUEUED, q SKIPPED, d SKIPPED");
});

test("5: a join starts its dependents as soon as it is met", () => {
  const graph = graphOf([task("a"), task("b"), anyOf("j", "a", "b"), task("c", output("j"))]);
  const first = after(graph, [end("b")]);
  expect(seen(first)).toBe("RUNNING, a ENQUEUED, b COMPLETED, j COMPLETED, c ENQUEUED");
  const both = after(graph, [end("b"), end("c"), end("a")]);
  expect(both.nodes["c"]?.input).toBe("b");
  expect(seen(both)).toBe("COMPLETED, a COMPLETED, b COMPLETED, j COMPLETED, c COMPLETED");
});

test("5: the output of a quorum is the list of the outputs of its COMPLETED sources, in the order of its list", () => {
  const sources = [task("a"), task("b"), task("c")];
  const graph = graphOf([...sources, quorum("q", 2, "a", "b", "c"), task("d", output("q"))]);
  const situation = after(graph, [end("c"), end("a"), end("b")]);
  expect(situation.nodes["d"]?.input).toEqual(["a", "c"]);
});

test("8: a node is RUNNING while its task is tried again", () => {
  const situation = after(graphOf(chain), [start("a"), start("a")]);
  expect(seen(situation)).toBe("RUNNING, a RUNNING, b PENDING");
  expect([situation.inLine, situation.begun]).toEqual([[], ["a"]]);
});

test("9: a nested run that is PAUSED keeps its node RUNNING", () => {
  const inner = graphOf([task("x"), task("y")], { onError: "pause" });
  const graph = graphOf([nested("a", inner), task("b")]);
  const history = [end("a/x", failed())];
  const situation = afterNested(inner, graph, history);
  expect(seen(situation)).toBe("RUNNING, a RUNNING, b ENQUEUED");
  expect(situation.nodes["a"]?.run?.status).toBe("PAUSED");
  expect(situation.inLine).toEqual(["b"]);
  const resumed = afterNested(inner, graph, [...history, onRun("resume", "a"), end("a/y")]);
  expect(seen(resumed)).toBe("RUNNING, a FAILED, b ENQUEUED");
});

test("10: a failed item stops no other item, and the fan-out ends after all its items", () => {
  const graph = graphOf([each("e", output("$input")), task("b", result("e"))]);
  const one = after(graph, [end("e[0]", failed())], [1, 2]);
  expect([seen(one), one.inLine]).toEqual(["RUNNING, e RUNNING, b PENDING", ["e[1]"]]);
  const two = after(graph, [end("e[0]", failed()), end("e[1]")], [1, 2]);
  expect(seen(two)).toBe("RUNNING, e FAILED, b ENQUEUED");
});

test("12: a run ends when all its nodes have ended, and not before", () => {
  const graph = graphOf([task("a"), task("b")]);
  expect(after(graph, [end("a", failed())]).status).toBe("RUNNING");
  expect(after(graph, [end("a", failed()), end("b")]).status).toBe("FAILED");
  const atOnce = graphOf([each("e", output("$input"))]);
  expect(after(atOnce, [], []).status).toBe("COMPLETED");
});

test("14: a FAILED node pauses its run, with the runs nested in it", () => {
  const inner = graphOf([task("x"), task("y")]);
  const graph = graphOf([task("a"), nested("n", inner)], { onError: "pause" });
  const situation = afterNested(inner, graph, [start("n/x"), end("a", failed())]);
  expect(seen(situation)).toBe("PAUSED, a FAILED, n RUNNING");
  const run = situation.nodes["n"]?.run;
  expect(run === undefined ? "" : seen(run)).toBe("PAUSED, x RUNNING, y READY");
  expect(situation.inLine).toEqual([]);
});

test("14: the failure of a nested run pauses the run around it", () => {
  const inner = graphOf([task("x")]);
  const graph = graphOf([nested("n", inner), task("a")], { onError: "pause" });
  const situation = afterNested(inner, graph, [end("n/x", failed())]);
  expect(seen(situation)).toBe("PAUSED, n FAILED, a READY");
});

test("15: a PAUSED run starts no node, its running tasks go on, and its impossible nodes are SKIPPED", () => {
  const situation = after(pausing, [start("b"), end("a", failed())]);
  expect(seen(situation)).toBe("PAUSED, a FAILED, b RUNNING, c READY, d SKIPPED");
  const more = after(pausing, [start("b"), end("a", failed()), end("b")]);
  expect(seen(more)).toBe("PAUSED, a FAILED, b COMPLETED, c READY, d SKIPPED");
});

test("15: pause() takes waiting tasks out of the queue, and resume() sends READY nodes", () => {
  const paused = after(graphOf(chain), [pause]);
  expect([seen(paused), paused.inLine]).toEqual(["PAUSED, a READY, b PENDING", []]);
  const resumed = after(graphOf(chain), [pause, resume]);
  expect([seen(resumed), resumed.inLine]).toEqual(["RUNNING, a ENQUEUED, b PENDING", ["a"]]);
  const items = graphOf([each("e", output("$input"))]);
  const half = after(items, [start("e[1]"), pause], [1, 2]);
  expect([half.inLine, half.begun]).toEqual([[], ["e[1]"]]);
  expect(after(items, [start("e[1]"), pause, resume], [1, 2]).inLine).toEqual(["e[0]"]);
});

test("15: conditions are decided in a paused run", () => {
  const nodes = [
    task("a"),
    when("$when1", output("a")),
    task("b", null, { after: ["$when1"] }),
    when("$when2", output("a"), { negated: true }),
    task("c", null, { after: ["$when2"] }),
  ];
  const situation = after(graphOf(nodes), [start("a"), pause, end("a", ok(1))]);
  expect(seen(situation)).toBe(
    "PAUSED, a COMPLETED, $when1 COMPLETED, b READY, $when2 SKIPPED, c SKIPPED",
  );
});

test("15: resume() ends a paused run whose nodes have all ended", () => {
  const graph = graphOf([task("a")]);
  const history = [start("a"), pause, end("a")];
  expect(seen(after(graph, history))).toBe("PAUSED, a COMPLETED");
  expect(seen(after(graph, [...history, resume]))).toBe("COMPLETED, a COMPLETED");
});

test("16: optional nodes do not pause the run", () => {
  const optional = { ...pausing, success: { cases: null, optional: ["a"] } };
  const situation = after(optional, [end("a", failed())]);
  expect(seen(situation)).toBe("RUNNING, a FAILED, b ENQUEUED, c ENQUEUED, d SKIPPED");
});

test("19: cancel() of a run without running tasks skips its nodes, and the run is CANCELLED", () => {
  const situation = after(graphOf(chain), [cancel]);
  expect([seen(situation), situation.inLine]).toEqual(["CANCELLED, a SKIPPED, b SKIPPED", []]);
  expect(seen(after(graphOf(chain), [pause, cancel]))).toBe("CANCELLED, a SKIPPED, b SKIPPED");
});

test("19: cancel() of a run with a running task makes it CANCELLED when the task has ended", () => {
  const history = [start("a"), cancel];
  const asked = after(graphOf(chain), history);
  expect([seen(asked), asked.isCancelling]).toEqual(["RUNNING, a RUNNING, b SKIPPED", true]);
  const situation = after(graphOf(chain), [...history, end("a", CANCELLED)]);
  expect(seen(situation)).toBe("CANCELLED, a FAILED, b SKIPPED");
  expect(situation.nodes["a"]?.outcome).toMatchObject({ error: { code: "TASK_CANCELLED" } });
});

test("19: cancel() cancels nested runs, and their nodes are FAILED with SUBWORKFLOW_FAILED", () => {
  const inner = graphOf([task("x"), task("y", output("x"))]);
  const graph = graphOf([nested("n", inner), task("b", result("n"))], { onError: "pause" });
  const atOnce = afterNested(inner, graph, [cancel]);
  expect(seen(atOnce)).toBe("CANCELLED, n FAILED, b SKIPPED");
  expect(atOnce.nodes["n"]?.outcome).toMatchObject({ error: { code: "SUBWORKFLOW_FAILED" } });
  const run = atOnce.nodes["n"]?.run;
  expect(run === undefined ? "" : seen(run)).toBe("CANCELLED, x SKIPPED, y SKIPPED");
  const later = afterNested(inner, graph, [start("n/x"), cancel, end("n/x", CANCELLED)]);
  expect(seen(later)).toBe("CANCELLED, n FAILED, b SKIPPED");
});

test("20: retryFrom() starts the FAILED node and its followers over, and the other nodes keep their state", () => {
  const graph = graphOf([...chain, task("c", result("b")), task("d")]);
  const history = [end("a"), end("d"), end("b", failed()), end("c")];
  expect(seen(after(graph, history))).toMatch("FAILED, a COMPLETED, b FAILED, c COMPLETED");
  const retried = after(graph, [...history, retryFrom("b")]);
  expect(seen(retried)).toBe("RUNNING, a COMPLETED, b ENQUEUED, c PENDING, d COMPLETED");
  expect(retried.outcome).toBeNull();
  const again = after(graph, [...history, retryFrom("b"), end("b"), end("c")]);
  expect(again.status).toBe("COMPLETED");
});

test("20: retryFrom() in a run that is PAUSED makes it RUNNING again", () => {
  const situation = after(pausing, [end("a", failed()), retryFrom("a")]);
  expect(seen(situation)).toBe("RUNNING, a ENQUEUED, b ENQUEUED, c PENDING, d PENDING");
});

test("20: retryFrom() of a fan-out runs only its FAILED items again", () => {
  const graph = graphOf([each("e", output("$input"))]);
  const history = [end("e[0]"), end("e[1]", failed()), retryFrom("e")];
  const retried = after(graph, history, [1, 2]);
  expect([seen(retried), retried.inLine]).toEqual(["RUNNING, e RUNNING", ["e[1]"]]);
  const again = after(graph, [...history, end("e[1]")], [1, 2]);
  expect(again.nodes["e"]?.outcome).toEqual(ok(["e[0]", "e[1]"]));
});

test("20: retryFrom() changes no node that is not FAILED, and no run that is neither PAUSED nor FAILED", () => {
  const graph = graphOf([task("a"), task("b"), task("c")]);
  const running = [end("a", failed())];
  expect(after(graph, [...running, retryFrom("a")])).toEqual(after(graph, running));
  const history = [...running, end("b"), end("c")];
  expect(after(graph, [...history, retryFrom("b")])).toEqual(after(graph, history));
  const cancelled = [...running, cancel];
  expect(after(graph, [...cancelled, retryFrom("a")])).toEqual(after(graph, cancelled));
});
