/** The oracle against the rules 12 to 18 of docs/guides/workflows.md: how a run ends. */
import { expect, test } from "vitest";
import { ends, EXPIRED, failed, graphOf, ok, output, result, task } from "./hand-written.ts";
import { expectedRun } from "./oracle.ts";
import type { RunState, TaskEnd } from "./picture.ts";
import type { WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import { matches } from "./values.ts";

function run(graph: WorkflowGraph, named: { readonly [path: string]: TaskEnd } = {}): RunState {
  return expectedRun(new Map(), graph, null, ends(named));
}

const chain = [task("a"), task("b", output("a")), task("c")];

test("13: a FAILED node stops nothing but what needs its success; then the run is FAILED", () => {
  const { status, nodes } = run(graphOf(chain), { a: failed() });
  expect([status, nodes["b"]?.status, nodes["c"]?.status]).toEqual([
    "FAILED",
    "SKIPPED",
    "COMPLETED",
  ]);
});

test("16: a run is COMPLETED if no node FAILED", () => {
  expect(run(graphOf(chain)).status).toBe("COMPLETED");
});

test("16: with success.optional, these nodes may fail", () => {
  const graph = graphOf(chain, { success: { optional: ["a"] } });
  expect(run(graph, { a: failed() }).status).toBe("COMPLETED");
  expect(run(graph, { a: failed(), c: failed() }).status).toBe("FAILED");
});

test("16: with success.cases, all nodes of at least one case are COMPLETED, whatever became of the others", () => {
  const graph = graphOf(chain, { success: { cases: [["a", "b"], ["c"]] } });
  expect(run(graph, { a: failed() }).status).toBe("COMPLETED");
  expect(run(graph, { c: failed() }).status).toBe("COMPLETED");
  expect(run(graph, { a: failed(), c: failed() }).status).toBe("FAILED");
});

test("17: the result is what build returned; a part whose node is not COMPLETED is left out", () => {
  const parts = { a: output("a"), deep: [output("b"), output("c")], audit: result("c", "ok") };
  const graph = graphOf(chain, { success: { optional: ["a"] }, output: parts });
  expect(run(graph, { a: ok(1) }).outcome).toEqual(ok({ a: 1, deep: ["b", "c"], audit: true }));
  expect(run(graph, { a: failed() }).outcome).toEqual(ok({ deep: [null, "c"], audit: true }));
});

test("18: the error is WORKFLOW_FAILED and names the first failed node that is not optional", () => {
  const graph = graphOf(chain, { success: { optional: ["a"] } });
  const { outcome } = run(graph, { a: failed(), c: failed("LAST") });
  const error = { code: "LAST", message: "no" };
  const found = { code: "WORKFLOW_FAILED", message: "in any words", data: { node: "c", error } };
  expect(outcome?.ok === false && matches(outcome.error, found)).toBe(true);
});

test("18: with cases, it is the first that belongs to a case", () => {
  const graph = graphOf(chain, { success: { cases: [["c"]] } });
  const { outcome } = run(graph, { a: failed(), c: EXPIRED });
  expect(outcome).toMatchObject({ ok: false, error: { code: "WORKFLOW_FAILED" } });
  expect(outcome).toMatchObject({
    error: { data: { node: "c", error: { code: "TASK_EXPIRED" } } },
  });
});

test("18: if there is none, it is WORKFLOW_SUCCESS_CASE_NOT_MET", () => {
  const graph = graphOf(chain, { success: { cases: [["b"]] } });
  const { status, outcome } = run(graph, { a: failed() });
  expect(status).toBe("FAILED");
  expect(outcome).toMatchObject({ error: { code: "WORKFLOW_SUCCESS_CASE_NOT_MET" } });
});
