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

test("13: a FAILED node stops only the nodes that need its success; then the run is FAILED", () => {
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

test("16: a run is COMPLETED if only nodes of success.optional FAILED", () => {
  const graph = graphOf(chain, { success: { optional: ["a"] } });
  expect(run(graph, { a: failed() }).status).toBe("COMPLETED");
  expect(run(graph, { a: failed(), c: failed() }).status).toBe("FAILED");
});

test("16: a run with success.cases is COMPLETED if all nodes of at least one case are", () => {
  const graph = graphOf(chain, { success: { cases: [["a", "b"], ["c"]] } });
  expect(run(graph, { a: failed() }).status).toBe("COMPLETED");
  expect(run(graph, { c: failed() }).status).toBe("COMPLETED");
  expect(run(graph, { a: failed(), c: failed() }).status).toBe("FAILED");
});

test("17: the result of a run is the value that build returned, without the parts whose node is not COMPLETED", () => {
  const parts = { a: output("a"), deep: [output("b"), output("c")], audit: result("c", "ok") };
  const graph = graphOf(chain, { success: { optional: ["a"] }, output: parts });
  expect(run(graph, { a: ok(1) }).outcome).toEqual(ok({ a: 1, deep: ["b", "c"], audit: true }));
  expect(run(graph, { a: failed() }).outcome).toEqual(ok({ deep: [null, "c"], audit: true }));
});

test("18: the error of a run is WORKFLOW_FAILED and names the first failed node that is not optional", () => {
  const graph = graphOf(chain, { success: { optional: ["a"] } });
  const { outcome } = run(graph, { a: failed(), c: failed("LAST") });
  const error = { code: "LAST", message: "no" };
  const found = { code: "WORKFLOW_FAILED", message: "in any words", data: { node: "c", error } };
  expect(outcome?.ok === false && matches(outcome.error, found)).toBe(true);
});

test("18: the error of a run with cases names the first failed node that belongs to a case", () => {
  const graph = graphOf(chain, { success: { cases: [["c"]] } });
  const { outcome } = run(graph, { a: failed(), c: EXPIRED });
  expect(outcome).toMatchObject({ ok: false, error: { code: "WORKFLOW_FAILED" } });
  expect(outcome).toMatchObject({
    error: { data: { node: "c", error: { code: "TASK_EXPIRED" } } },
  });
});

test("18: the error of a run is WORKFLOW_SUCCESS_CASE_NOT_MET if no node of a case failed", () => {
  const graph = graphOf(chain, { success: { cases: [["b"]] } });
  const { status, outcome } = run(graph, { a: failed() });
  expect(status).toBe("FAILED");
  expect(outcome).toMatchObject({ error: { code: "WORKFLOW_SUCCESS_CASE_NOT_MET" } });
});
