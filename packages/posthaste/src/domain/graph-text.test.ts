/** Graphs as people see them. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTask } from "../define/define-task.ts";
import { defineWorkflow } from "../define/define-workflow.ts";
import { graphMermaid } from "./graph-mermaid.ts";
import { graphText } from "./graph-text.ts";

const fetchOrder = defineTask({
  name: "fetch-order",
  run: ({ id }: { id: string; tags?: string[]; "x-y"?: string[] }) => ({
    total: id.length,
    speed: "express",
    until: "2026-11-16",
    items: [{ sku: "a" }],
  }),
});
const charge = defineTask({
  name: 'charge "it" [now]',
  queue: "money",
  run: (input: { total: number; text?: string }) => ({ receipt: String(input.total) }),
});
const audit = defineTask({ name: "audit", run: (input: { paid: boolean }) => input.paid });
const tick = defineTask({ name: "tick", run: () => 1 });
const small = defineWorkflow({ name: "small", build: (flow) => void flow.node("t", tick) });

const everything = defineWorkflow({
  name: "everything",
  version: 3,
  onError: "pause",
  success: { cases: [["order", "paid"], ["audit"]], optional: ["t:1"] },
  input: z.object({ id: z.string() }),
  build: (flow, input) => {
    const order = flow.node("order", fetchOrder, { id: input.id, tags: ["a", "b"], "x-y": [] });
    const paid = flow.node("paid", charge, { total: order.output.total }, { priority: 1 });
    flow.node("audit", audit, { paid: paid.result.ok }, { goodForMs: 50 });
    const t = flow.node("t:1", tick, undefined, { after: [paid], goodUntil: order.output.until });
    flow.each("items", fetchOrder, order.output.items, (item) => ({ id: item.sku }));
    flow.each("smalls", small, order.output.items, () => undefined);
    const [fast, slow] = flow.when(
      flow.equals(order.output.speed, "express"),
      () => flow.workflow("fast", small),
      () => flow.node("slow", charge, { total: 1, text: "x".repeat(100) }),
    );
    flow.when(flow.not(paid.output.receipt), () => flow.node("last", tick));
    const either = flow.any([fast, slow]);
    flow.quorum(2, [paid, t, either]);
    return { receipts: [paid.output.receipt, null], either: either.output };
  },
});

describe("graph text", () => {
  test("graphText lists nodes, conditions, output and success rules", () => {
    expect(everything.problems).toEqual([]);
    expect(graphText(everything.graph)).toBe(
      `everything, version 3

  order     fetch-order { id: input.id, tags: ["a", "b"], "x-y": [] }
  paid      charge "it" [now] { total: order.output.total } (queue money, priority 1)           after order
  audit     audit { paid: paid.result.ok } (good for 50 ms)                                     after the end of paid
  t:1       tick (good until order.output.until)                                                after order, paid
  items     each of order.output.items: fetch-order { id: item.sku }                            after order
  smalls    each of order.output.items: workflow small                                          after order
  $when1    when order.output.speed is "express"                                                after order
  fast      workflow small                                                                      after $when1
  $when2    when order.output.speed is not "express"                                            after order
  slow      charge "it" [now] { total: 1, text: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (queue money)  after $when2
  $when3    when not paid.output.receipt                                                        after paid
  last      tick                                                                                after $when3
  $any4     any of fast, slow
  $quorum5  2 of paid, t:1, $any4

  output    { receipts: [paid.output.receipt, null], either: $any4.output }
  onError   pause
  success   if order and paid, or audit completed
  optional  t:1`,
    );
  });

  test("graphText is shorter without an output or success rules", () => {
    expect(graphText(small.graph)).toBe(
      "small, version 1\n\n  t  tick\n\n  output   nothing\n  onError  fail",
    );
  });

  test("graphMermaid draws a chart and escapes its labels", () => {
    expect(graphMermaid([everything.graph])).toBe(`flowchart TD
  n0["order<br/>fetch-order"]
  n1["paid<br/>charge #34;it#34; #91;now#93;"]
  n2["audit<br/>audit"]
  n3["t:1<br/>tick"]
  n4[["items<br/>each of order.output.items: fetch-order"]]
  n5[["smalls<br/>each of order.output.items: workflow small"]]
  n6{"when order.output.speed is #34;express#34;"}
  n7[["fast<br/>workflow small"]]
  n8{"when order.output.speed is not #34;express#34;"}
  n9["slow<br/>charge #34;it#34; #91;now#93;"]
  n10{"when not paid.output.receipt"}
  n11["last<br/>tick"]
  n12{{"any"}}
  n13{{"2 of 3"}}
  n0 --> n1
  n1 -.-> n2
  n0 --> n3
  n1 --> n3
  n0 --> n4
  n0 --> n5
  n0 --> n6
  n6 --> n7
  n0 --> n8
  n8 --> n9
  n1 --> n10
  n10 --> n11
  n7 --> n12
  n9 --> n12
  n1 --> n13
  n3 --> n13
  n12 --> n13`);
  });

  test("graphMermaid draws several graphs as boxes in one chart", () => {
    const other = defineWorkflow({ name: "<other>", build: (flow) => void flow.node("t", tick) });

    expect(graphMermaid([small.graph, other.graph])).toBe(`flowchart TD
  subgraph w0["small, version 1"]
    w0n0["t<br/>tick"]
  end
  subgraph w1["#60;other#62;, version 1"]
    w1n0["t<br/>tick"]
  end`);
  });
});
