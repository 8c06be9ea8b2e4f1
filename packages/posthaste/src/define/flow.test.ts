/** The graphs that fan-outs, joins, conditions and nested workflows make. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { graphDigest } from "../domain/graph-digest.ts";
import { defineTask } from "./define-task.ts";
import { defineWorkflow } from "./define-workflow.ts";

const fetchOrder = defineTask({
  name: "fetch-order",
  run: ({ id }: { id: string }) => ({
    total: id.length,
    express: true,
    address: { city: "Ulm" },
    items: [{ sku: "a" }],
  }),
});
const charge = defineTask({ name: "charge", run: ({ total }: { total: number }) => total });
const pack = defineTask({
  name: "pack",
  run: (input: { item: { sku: string }; nr: number; city: string }) => input.item.sku,
});
const tick = defineTask({ name: "tick", run: () => 1 });
const plain = { queue: null, priority: null, options: null, flags: null } as const;
const unlimited = { goodForMs: null, goodUntil: null } as const;

describe("flow", () => {
  test("a fan-out depends on its refs, and on nothing for its item and index", () => {
    const { graph, problems } = defineWorkflow({
      name: "fan-out",
      build: (flow) => {
        const order = flow.node("order", fetchOrder, { id: "1" });
        const other = flow.node("other", fetchOrder, { id: "2" });
        const parcels = flow.each(
          "parcels",
          pack,
          order.output.items,
          (item, index) => ({ item, nr: index, city: other.output.address.city }),
          { queue: "bulk" },
        );
        return [parcels.output, parcels.results, parcels.result.ok, parcels.output[3]];
      },
    });

    expect(problems).toEqual([]);
    expect(graph.nodes[2]).toEqual({
      id: "parcels",
      kind: "each",
      needs: [
        { node: "order", accepts: "success" },
        { node: "other", accepts: "success" },
      ],
      required: 2,
      task: "pack",
      ...plain,
      queue: "bulk",
      ...unlimited,
      over: { path: [], from: "order", part: "output", at: ["items"] },
      input: {
        template: { item: null, nr: null, city: null },
        holes: [
          { path: ["item"], from: "$item", part: "output", at: [] },
          { path: ["nr"], from: "$index", part: "output", at: [] },
          { path: ["city"], from: "other", part: "output", at: ["address", "city"] },
        ],
      },
    });
    expect(graph.output.holes).toEqual([
      { path: [0], from: "parcels", part: "output", at: [] },
      { path: [1], from: "parcels", part: "results", at: [] },
      { path: [2], from: "parcels", part: "result", at: ["ok"] },
      { path: [3], from: "parcels", part: "output", at: [3] },
    ]);
  });

  test("a join depends on its sources, and other nodes can depend on it", () => {
    const { graph, problems } = defineWorkflow({
      name: "joins",
      build: (flow) => {
        const a = flow.node("a", tick);
        const b = flow.node("b", tick);
        const c = flow.node("c", tick);
        const two = flow.quorum(2, [a, b, c]);
        const one = flow.any([a, two]);
        flow.node("d", tick, undefined, { after: [one, a] });
        return one.output;
      },
    });

    expect(problems).toEqual([]);
    const needs = (...ids: string[]) => ids.map((node) => ({ node, accepts: "success" }));
    expect(graph.nodes.slice(3)).toMatchObject([
      { id: "$quorum1", kind: "quorum", needs: needs("a", "b", "c"), required: 2 },
      { id: "$any2", kind: "any", needs: needs("a", "$quorum1"), required: 1 },
      { id: "d", kind: "task", needs: needs("$any2", "a"), required: 2 },
    ]);
    expect(graph.output.holes).toEqual([{ path: [], from: "$any2", part: "output", at: [] }]);
  });

  test("a condition makes one gate for each branch, which its nodes and inner gates need", () => {
    const { graph, problems } = defineWorkflow({
      name: "conditions",
      input: z.object({ eager: z.boolean() }),
      build: (flow, input) => {
        const order = flow.node("order", fetchOrder, { id: "1" });
        flow.when(
          order.output.express,
          () => {
            flow.node("fast", tick);
            flow.when(flow.not(input.eager), () => flow.node("inner", tick));
            flow.node("faster", tick, undefined, { after: order });
          },
          () => flow.node("slow", tick),
        );
        flow.when(flow.equals(order.result.ok, false), () => flow.node("failed", tick));
        flow.node("always", tick);
      },
    });

    expect(problems).toEqual([]);
    const success = (node: string) => ({ node, accepts: "success" });
    const express = { path: [], from: "order", part: "output", at: ["express"] };
    expect(graph.nodes.slice(1)).toMatchObject([
      {
        id: "$when1",
        kind: "when",
        needs: [success("order")],
        required: 1,
        condition: { value: express, negated: false },
      },
      { id: "fast", needs: [success("$when1")], required: 1 },
      {
        id: "$when2",
        needs: [success("$when1")],
        required: 1,
        condition: {
          value: { path: [], from: "$input", part: "output", at: ["eager"] },
          negated: true,
        },
      },
      { id: "inner", needs: [success("$when2")] },
      { id: "faster", needs: [success("order"), success("$when1")], required: 2 },
      { id: "$when3", needs: [success("order")], condition: { value: express, negated: true } },
      { id: "slow", needs: [success("$when3")] },
      {
        id: "$when4",
        needs: [{ node: "order", accepts: "end" }],
        condition: {
          value: { path: [], from: "order", part: "result", at: ["ok"] },
          equals: false,
          negated: false,
        },
      },
      { id: "failed", needs: [success("$when4")] },
      { id: "always", needs: [], required: 0 },
    ]);
  });

  test("a join under a condition depends on its sources; its followers on the condition too", () => {
    const { graph, problems } = defineWorkflow({
      name: "join under a condition",
      build: (flow) => {
        const order = flow.node("order", fetchOrder, { id: "1" });
        const either = flow.when(order.output.express, () => flow.any([order]));
        flow.node("x", charge, { total: either.output.total });
        flow.node("y", tick, undefined, { after: either });
      },
    });

    expect(problems).toEqual([]);
    const needs = (...ids: string[]) => ids.map((node) => ({ node, accepts: "success" }));
    expect(graph.nodes.slice(2)).toMatchObject([
      { id: "$any2", needs: needs("order"), required: 1 },
      { id: "x", needs: needs("$any2", "$when1") },
      { id: "y", needs: needs("$any2", "$when1") },
    ]);
  });

  test("names a nested workflow by the digest of its graph", () => {
    const inner = defineWorkflow({
      name: "inner",
      version: 2,
      input: z.object({ id: z.string() }),
      build: (flow, { id }) => flow.node("order", fetchOrder, { id }).output.items,
    });
    const outer = defineWorkflow({
      name: "outer",
      build: (flow) => {
        const first = flow.workflow("first", inner, { id: "1" }, { after: flow.node("t", tick) });
        const all = flow.each("all", inner, first.output, (item) => ({ id: item.sku }));
        return all.output;
      },
    });

    expect(outer.problems).toEqual([]);
    expect(outer.children).toEqual([inner]);
    expect(outer.tasks).toEqual([tick]);
    const workflow = { name: "inner", version: 2, digest: graphDigest(inner.graph) };
    expect(outer.graph.nodes.slice(1)).toEqual([
      {
        id: "first",
        kind: "workflow",
        needs: [{ node: "t", accepts: "success" }],
        required: 1,
        workflow,
        input: { template: { id: "1" }, holes: [] },
      },
      {
        id: "all",
        kind: "each",
        needs: [{ node: "first", accepts: "success" }],
        required: 1,
        workflow,
        over: { path: [], from: "first", part: "output", at: [] },
        input: {
          template: { id: null },
          holes: [{ path: ["id"], from: "$item", part: "output", at: ["sku"] }],
        },
      },
    ]);
  });
});
