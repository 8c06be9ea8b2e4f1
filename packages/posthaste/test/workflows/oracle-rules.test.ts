/** The oracle against the rules of docs/guides/workflows.md, one by one: the state of a run when everything has ended. */
import { expect, test } from "vitest";
import type { Json } from "../../src/domain/json.ts";
import type { GraphNode, WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import {
  anyOf,
  CANCELLED,
  each,
  ends,
  EXPIRED,
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
import type { RunState, TaskEnd } from "./picture.ts";
import { digestOf } from "./random-graphs.ts";
import { OPEN } from "./values.ts";

type Ends = { readonly [path: string]: TaskEnd };

function run(graph: WorkflowGraph, named: Ends = {}, input: Json = null): RunState {
  return expectedRun(new Map(), graph, input, ends(named));
}

function runNested(graph: WorkflowGraph, inner: WorkflowGraph, named: Ends = {}): RunState {
  return expectedRun(new Map([[digestOf(inner), inner]]), graph, null, ends(named));
}

function statuses(nodes: readonly GraphNode[], named: Ends = {}, input: Json = null): string {
  const states = run(graphOf(nodes), named, input).nodes;
  return nodes.map(({ id }) => `${id} ${states[id]?.status}`).join(", ");
}

const code = (state: { readonly outcome: RunState["outcome"] } | undefined): unknown => {
  const outcome = state?.outcome;
  return outcome?.ok === false ? (outcome.error as { readonly code?: unknown }).code : undefined;
};

test("1: a node starts when all that it needs is met", () => {
  const nodes = [task("a"), task("b"), task("c", { a: output("a") }, { after: ["b"] })];
  expect(statuses(nodes)).toBe("a COMPLETED, b COMPLETED, c COMPLETED");
  expect(run(graphOf(nodes)).nodes["c"]?.input).toEqual({ a: "a" });
});

test("2: a node is SKIPPED as soon as something that it needs has become impossible", () => {
  const byOutput = [task("a"), task("b", [output("a")])];
  expect(statuses(byOutput, { a: failed() })).toBe("a FAILED, b SKIPPED");
  const byAfter = [task("a"), task("b", null, { after: ["a"] })];
  expect(statuses(byAfter, { a: failed() })).toBe("a FAILED, b SKIPPED");
  const byQuorum = [task("a"), task("b"), quorum("q", 2, "a", "b"), task("c", output("q"))];
  expect(statuses(byQuorum, { a: failed() })).toBe("a FAILED, b COMPLETED, q SKIPPED, c SKIPPED");
  const byAny = [task("a"), task("b"), anyOf("j", "a", "b"), task("c", null, { after: ["j"] })];
  const bothFailed = { a: failed(), b: EXPIRED };
  expect(statuses(byAny, bothFailed)).toBe("a FAILED, b FAILED, j SKIPPED, c SKIPPED");
});

test("3: a node that needs the success of a SKIPPED node is SKIPPED, and a node that only needs its end gets UPSTREAM_SKIPPED", () => {
  const nodes = [
    task("a"),
    task("b", output("a")),
    task("c", output("b")),
    task("d", { of: result("c") }),
  ];
  const picture = run(graphOf(nodes), { a: failed() });
  expect(statuses(nodes, { a: failed() })).toBe("a FAILED, b SKIPPED, c SKIPPED, d COMPLETED");
  expect(picture.nodes["d"]?.input).toMatchObject({
    of: { ok: false, error: { code: "UPSTREAM_SKIPPED" } },
  });
});

test("3: a node that only needs the end of a FAILED node gets its error", () => {
  const nodes = [task("a"), task("b", { of: result("a"), ok: result("a", "ok") })];
  expect(run(graphOf(nodes), { a: failed("GONE") }).nodes["b"]?.input).toEqual({
    of: { ok: false, error: { code: "GONE", message: "no" } },
    ok: false,
  });
  expect(run(graphOf(nodes), { a: ok(5) }).nodes["b"]?.input).toEqual({
    of: { ok: true, value: 5 },
    ok: true,
  });
});

test("4: a node that uses both .output and .result of a source needs its success", () => {
  const node = task("b", { one: result("a"), other: output("a") });
  expect(node.needs).toEqual([{ node: "a", accepts: "success" }]);
  expect(statuses([task("a"), node], { a: failed() })).toBe("a FAILED, b SKIPPED");
});

test("5: a join is met by enough of its sources, however the others end", () => {
  const sources = [task("a"), task("b"), task("c")];
  const nodes = [...sources, quorum("q", 2, "c", "b", "a"), task("d", output("q"))];
  const picture = run(graphOf(nodes), { b: failed() });
  expect(picture.nodes["d"]).toMatchObject({ status: "COMPLETED", input: ["c", "a"] });
  const any = [...sources, anyOf("j", "a", "b", "c"), task("d", output("j"))];
  const onlyOne = run(graphOf(any), { a: failed(), c: failed() });
  expect(onlyOne.nodes["d"]).toMatchObject({ status: "COMPLETED", input: "b" });
});

test("5: the output of a join is open if more sources are COMPLETED than it needs", () => {
  const nodes = [task("a"), task("b"), anyOf("j", "a", "b"), task("c", { of: output("j") })];
  expect(run(graphOf(nodes)).nodes["c"]?.input).toEqual({ of: OPEN });
});

test.each([
  [true, true],
  [1, true],
  ["no", true],
  [[], true],
  [{}, true],
  [false, false],
  [null, false],
  [0, false],
  ["", false],
])("6: a condition on %j holds as in JavaScript: %s", (value, isTrue) => {
  const nodes = [
    task("a"),
    when("$when1", output("a", "x")),
    task("then", null, { after: ["$when1"] }),
    when("$when2", output("a", "x"), { negated: true }),
    task("otherwise", null, { after: ["$when2"] }),
  ];
  const states = run(graphOf(nodes), { a: ok({ x: value }) }).nodes;
  expect(states["then"]?.status).toBe(isTrue ? "COMPLETED" : "SKIPPED");
  expect(states["otherwise"]?.status).toBe(isTrue ? "SKIPPED" : "COMPLETED");
});

test("6: a condition on a missing value does not hold, and a FAILED source skips both branches", () => {
  const nodes = [
    task("a"),
    when("$when1", output("a", "x", "y")),
    when("$when2", output("a", "x", "y"), { negated: true }),
  ];
  const missing = statuses(nodes, { a: ok({ x: 1 }) });
  expect(missing).toBe("a COMPLETED, $when1 SKIPPED, $when2 COMPLETED");
  expect(statuses(nodes, { a: failed() })).toBe("a FAILED, $when1 SKIPPED, $when2 SKIPPED");
});

test("6: flow.equals compares whole values", () => {
  const nodes = (equals: Json): GraphNode[] => [task("a"), when("$when1", output("a"), { equals })];
  const value = { a: ok({ x: [1, "2"], y: null }) };
  expect(statuses(nodes({ y: null, x: [1, "2"] }), value)).toBe("a COMPLETED, $when1 COMPLETED");
  expect(statuses(nodes({ y: null, x: [1, 2] }), value)).toBe("a COMPLETED, $when1 SKIPPED");
  expect(statuses(nodes({ x: [1, "2"] }), value)).toBe("a COMPLETED, $when1 SKIPPED");
});

test("7: a missing value is left out of an object, and is null in an array", () => {
  const gone = output("a", "gone", 0);
  const node = task("b", { x: gone, deep: { y: [gone, 1], z: gone }, there: output("a", "null") });
  const picture = run(graphOf([task("a"), node]), { a: ok({ null: null }) });
  expect(picture.nodes["b"]?.input).toEqual({ deep: { y: [null, 1] }, there: null });
});

test("8: a node of a task ends with its task", () => {
  const nodes = [task("a"), task("b"), task("c"), task("d")];
  const { nodes: states } = run(graphOf(nodes), { b: failed("X"), c: EXPIRED, d: CANCELLED });
  expect(states["a"]).toEqual({ status: "COMPLETED", outcome: ok("a"), input: null });
  expect(["b", "c", "d"].map((id) => states[id]?.status)).toEqual(["FAILED", "FAILED", "FAILED"]);
  const codes = ["b", "c", "d"].map((id) => code(states[id]));
  expect(codes).toEqual(["X", "TASK_EXPIRED", "TASK_CANCELLED"]);
});

test("9: a node of a nested workflow ends with the nested run", () => {
  const inner = graphOf([task("x", output("$input", "n"))], { output: { got: output("x") } });
  const graph = graphOf([nested("a", inner, { n: 3 }), task("b", output("a"))]);
  const { nodes } = runNested(graph, inner);
  expect(nodes["a"]?.run?.nodes["x"]?.input).toBe(3);
  expect(nodes["b"]).toMatchObject({ status: "COMPLETED", input: { got: "a/x" } });
  const failing = runNested(graph, inner, { "a/x": CANCELLED });
  expect(failing.nodes["a"]).toMatchObject({ status: "FAILED", run: { status: "FAILED" } });
  expect(code(failing.nodes["a"])).toBe("SUBWORKFLOW_FAILED");
  expect(failing.nodes["b"]?.status).toBe("SKIPPED");
});

test("10: flow.each makes one task for every item, and is COMPLETED with their outputs in order", () => {
  const input = { item: output("$item"), index: output("$index"), other: output("a", 1) };
  const nodes = [task("a"), each("e", output("a"), input), task("b", output("e"))];
  const states = run(graphOf(nodes), { a: ok([7, 8]), "e[1]": ok("second") }).nodes;
  expect(states["e"]?.items?.map((item) => item.input)).toEqual([
    { item: 7, index: 0, other: 8 },
    { item: 8, index: 1, other: 8 },
  ]);
  expect(states["b"]?.input).toEqual(["e[0]", "second"]);
});

test("10: flow.each with no items is COMPLETED at once", () => {
  const nodes = [each("e", output("$input")), task("b", output("e"))];
  const states = run(graphOf(nodes), {}, []).nodes;
  expect(states["e"]).toMatchObject({ status: "COMPLETED", outcome: { ok: true, value: [] } });
  expect(states["b"]?.input).toEqual([]);
});

test("10: a fan-out with FAILED items is FAILED with WORKFLOW_ITEMS_FAILED, and .results has the results of all items", () => {
  const nodes = [
    each("e", output("$input")),
    task("b", output("e")),
    task("c", { all: results("e"), second: results("e", 1, "error", "code") }),
  ];
  const states = run(graphOf(nodes), { "e[1]": failed("X") }, [1, 2, 3]).nodes;
  expect([states["e"]?.status, code(states["e"])]).toEqual(["FAILED", "WORKFLOW_ITEMS_FAILED"]);
  const each1 = states["e"]?.items?.map(({ status }) => status);
  expect(each1).toEqual(["COMPLETED", "FAILED", "COMPLETED"]);
  expect(states["b"]?.status).toBe("SKIPPED");
  expect(states["c"]?.input).toMatchObject({
    all: [ok("e[0]"), { ok: false, error: { code: "X" } }, ok("e[2]")],
    second: "X",
  });
});

test("10: flow.each makes nested runs, too", () => {
  const inner = graphOf([task("x", output("$input"))], { output: output("x") });
  const graph = graphOf([each("e", output("l"), output("$item"), { of: inner })]);
  const nodes = [task("l"), ...graph.nodes];
  const states = runNested({ ...graph, nodes }, inner, { l: ok([5, 6]), "e[0]/x": failed() }).nodes;
  expect(states["e"]?.items?.map(({ run: of }) => of?.nodes["x"]?.input)).toEqual([5, 6]);
  expect(states["e"]?.items?.map(code)).toEqual(["SUBWORKFLOW_FAILED", undefined]);
  expect(code(states["e"])).toBe("WORKFLOW_ITEMS_FAILED");
});

test.each([[{ 0: 1 }], ["text"], [null], [7]])(
  "11: a node that cannot be started is FAILED with WORKFLOW_ENQUEUE_FAILED: each over %j",
  (value) => {
    const states = run(graphOf([each("e", output("$input"))]), {}, value).nodes;
    expect([states["e"]?.status, code(states["e"])]).toEqual(["FAILED", "WORKFLOW_ENQUEUE_FAILED"]);
  },
);

test.each([["soon"], ["tomorrow"], [5], [null]])(
  "11: a node whose goodUntil is not an instant is FAILED with WORKFLOW_ENQUEUE_FAILED: %j",
  (value) => {
    const graph = graphOf([task("a", null, { goodUntil: output("$input") })]);
    expect(code(run(graph, {}, value).nodes["a"])).toBe("WORKFLOW_ENQUEUE_FAILED");
    expect(run(graph, {}, "2999-01-01T00:00:00Z").nodes["a"]?.status).toBe("COMPLETED");
  },
);
