/** The graphs that `build` makes. For refused definitions see workflow-rules.test.ts. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { TaskResult } from "../domain/result.ts";
import { defineTask } from "./define-task.ts";
import { defineWorkflow } from "./define-workflow.ts";
import { exponential, fixed } from "./retry-policies.ts";
import { isWorkflow } from "./workflow.ts";

interface Order {
  readonly total: number;
  readonly express: boolean;
  readonly goodUntil: string;
  readonly address: { readonly city: string };
  readonly items: { readonly sku: string }[];
}

const fetchOrder = defineTask({
  name: "fetch-order",
  run: async ({ id }: { id: string }): Promise<Order> => ({
    total: id.length,
    express: true,
    goodUntil: "2026-11-16T08:00:00Z",
    address: { city: "Ulm" },
    items: [],
  }),
});
const charge = defineTask({
  name: "charge",
  errors: ["NO"],
  queue: "money",
  priority: 7,
  timeoutMs: 500,
  flags: { slow: true, loud: true },
  retry: fixed({ intervalsMs: [1], retryFor: ["NO"] }),
  run: ({ total }: { total: number }) => ({ receipt: String(total) }),
});
const audit = defineTask({
  name: "audit",
  run: (input: { payment: TaskResult<{ receipt: string }>; receipt?: string }) => input.payment.ok,
});
const tick = defineTask({ name: "tick", run: () => 1 });
const plain = { queue: null, priority: null, options: null, flags: null } as const;
const unlimited = { goodForMs: null, goodUntil: null } as const;

describe("defineWorkflow", () => {
  test("turns refs at any depth into placeholders and dependencies", () => {
    const ship = defineWorkflow({
      name: "ship",
      version: 3,
      onError: "pause",
      input: z.object({ orderId: z.string() }),
      build: (flow, input) => {
        const order = flow.node("order", fetchOrder, { id: input.orderId });
        const paid = flow.node("paid", charge, { total: order.output.total });
        flow.node("audit", audit, { payment: paid.result }, { after: order });
        return { city: order.output.address.city, all: [paid.output, "x"] };
      },
    });

    expect(ship.problems).toEqual([]);
    expect(ship.tasks).toEqual([fetchOrder, charge, audit]);
    expect(isWorkflow(ship)).toBe(true);
    expect(ship.graph).toEqual({
      format: 1,
      name: "ship",
      version: 3,
      onError: "pause",
      success: null,
      nodes: [
        {
          id: "order",
          kind: "task",
          needs: [],
          required: 0,
          task: "fetch-order",
          ...plain,
          ...unlimited,
          input: {
            template: { id: null },
            holes: [{ path: ["id"], from: "$input", part: "output", at: ["orderId"] }],
          },
        },
        {
          id: "paid",
          kind: "task",
          needs: [{ node: "order", accepts: "success" }],
          required: 1,
          task: "charge",
          queue: "money",
          priority: 7,
          options: {
            retry: { kind: "fixed", intervalsMs: [1], retryFor: ["NO"], jitter: true },
            timeoutMs: 500,
          },
          flags: { slow: true, loud: true },
          ...unlimited,
          input: {
            template: { total: null },
            holes: [{ path: ["total"], from: "order", part: "output", at: ["total"] }],
          },
        },
        {
          id: "audit",
          kind: "task",
          needs: [
            { node: "paid", accepts: "end" },
            { node: "order", accepts: "success" },
          ],
          required: 2,
          task: "audit",
          ...plain,
          ...unlimited,
          input: {
            template: { payment: null },
            holes: [{ path: ["payment"], from: "paid", part: "result", at: [] }],
          },
        },
      ],
      output: {
        template: { city: null, all: [null, "x"] },
        holes: [
          { path: ["city"], from: "order", part: "output", at: ["address", "city"] },
          { path: ["all", 0], from: "paid", part: "output", at: [] },
        ],
      },
    });
  });

  test("requires success when a node needs both the end and the success of another", () => {
    const { graph, problems } = defineWorkflow({
      name: "both",
      build: (flow) => {
        const paid = flow.node("paid", charge, { total: 1 });
        flow.node("a", audit, { payment: paid.result, receipt: paid.output.receipt });
        flow.node("b", audit, { receipt: paid.output.receipt, payment: paid.result });
      },
    });

    expect(problems).toEqual([]);
    const once = [{ node: "paid", accepts: "success" }];
    expect(graph.nodes.slice(1).map(({ needs }) => needs)).toEqual([once, once]);
  });

  test("prefers a node's options to its task's", () => {
    const { graph, problems } = defineWorkflow({
      name: "options",
      build: (flow) => {
        const order = flow.node("order", fetchOrder, { id: "1" });
        const options = {
          queue: "bulk",
          priority: 1,
          goodForMs: 50,
          flags: { loud: false, blue: true },
          retry: exponential({ baseMs: 5, maxRetries: 2, retryFor: "any" }),
        } as const;
        flow.node("a", charge, { total: 1 }, options);
        flow.node("b", charge, { total: 1 }, { goodUntil: new Date(0), flags: ["blue"] });
        flow.node("c", tick, undefined, { goodUntil: "2026-11-16T09:00:00+01:00" });
        flow.node("d", tick, undefined, { goodUntil: order.output.goodUntil });
      },
    });

    expect(problems).toEqual([]);
    expect(graph.nodes[1]).toMatchObject({
      queue: "bulk",
      priority: 1,
      goodForMs: 50,
      goodUntil: null,
      options: {
        retry: { kind: "exponential", baseMs: 5, maxRetries: 2, retryFor: "any", jitter: true },
        timeoutMs: 500,
      },
      flags: { slow: true, loud: false, blue: true },
    });
    expect(graph.nodes[2]).toMatchObject({
      queue: "money",
      goodUntil: "1970-01-01T00:00:00.000Z",
      flags: { slow: true, loud: true, blue: true },
    });
    expect(graph.nodes[3]).toMatchObject({ goodUntil: "2026-11-16T08:00:00.000Z" });
    expect(graph.nodes[4]).toMatchObject({
      goodUntil: { path: [], from: "order", part: "output", at: ["goodUntil"] },
      needs: [{ node: "order", accepts: "success" }],
    });
  });

  test("keeps success rules", () => {
    const build = (optional: string[], cases?: string[][]) =>
      defineWorkflow({
        name: "rules",
        success: { optional, ...(cases && { cases }) },
        build: (flow) => {
          flow.node("a", tick);
          flow.node("b", tick);
        },
      }).graph.success;

    expect(build(["a"])).toEqual({ cases: null, optional: ["a"] });
    expect(build([], [["a"], ["a", "b"]])).toEqual({ cases: [["a"], ["a", "b"]], optional: [] });
  });

  test("does not change the graph for flow.output", () => {
    const { graph, problems } = defineWorkflow({
      name: "named",
      build: (flow) => {
        const a = flow.node("a", tick);
        return flow.output({ n: a.output }, [flow.node("b", tick)]);
      },
    });

    expect(problems).toEqual([]);
    expect(graph.output).toEqual({
      template: { n: null },
      holes: [{ path: ["n"], from: "a", part: "output", at: [] }],
    });
  });

  test("freezes a definition and copies its options", () => {
    const cases = [["a"]];
    const given = { list: [1] };
    const anything = defineTask({ name: "anything", run: (input: { list: number[] }) => input });
    const workflow = defineWorkflow({
      name: "frozen",
      success: { cases },
      build: (flow) => void flow.node("a", anything, given),
    });

    cases.push(["b"]);
    given.list.push(2);

    expect(workflow.graph.success?.cases).toEqual([["a"]]);
    expect(workflow.graph.nodes[0]).toMatchObject({ input: { template: { list: [1] } } });
    expect(Object.isFrozen(workflow) && Object.isFrozen(workflow.graph.nodes[0])).toBe(true);
  });
});
