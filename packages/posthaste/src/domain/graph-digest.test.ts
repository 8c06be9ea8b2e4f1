import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { defineTask } from "../define/define-task.ts";
import { defineWorkflow } from "../define/define-workflow.ts";
import { graphDigest } from "./graph-digest.ts";
import type { WorkflowGraph } from "./workflow-graph.ts";

const tick = defineTask({ name: "tick", run: (input: { a: number; b?: number }) => input.a });
const inner = (a: number) =>
  defineWorkflow({ name: "inner", build: (flow) => flow.node("t", tick, { a }).output });
const outer = (a: number) =>
  defineWorkflow({ name: "outer", build: (flow) => flow.workflow("i", inner(a)).output });

describe("graphDigest", () => {
  test("is equal for equal graphs, whatever the order of their keys", () => {
    const { graph } = inner(1);
    const reversed = JSON.parse(JSON.stringify(graph), (_key, value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).toReversed())
        : value,
    ) as WorkflowGraph;

    expect(Object.keys(reversed)).not.toEqual(Object.keys(graph));
    expect(graphDigest(reversed)).toBe(graphDigest(graph));
    expect(graphDigest(inner(1).graph)).toBe(graphDigest(graph));
  });

  test("is the SHA-256 of JSON with sorted keys", () => {
    const graph = { version: 1, name: "ä" } as WorkflowGraph;
    const digest = createHash("sha256").update('{"name":"ä","version":1}').digest("hex");
    expect(graphDigest(graph)).toBe(digest);
  });

  test("changes with any value, in a nested workflow too", () => {
    expect(graphDigest(inner(2).graph)).not.toBe(graphDigest(inner(1).graph));
    expect(graphDigest(outer(2).graph)).not.toBe(graphDigest(outer(1).graph));
  });
});
