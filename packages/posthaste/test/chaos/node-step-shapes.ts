/** The runs whose nodes are interrupted at every step, and what must come out of them. */
import { defineWorkflow } from "posthaste";
import { z } from "zod";
import { ITEMS, textOf, work, type NodePlan } from "./node-step-app.ts";

/** A node that something happens to, and what starts when it has ended. */
export interface Target {
  readonly mark: string;
  /** The label of the node that follows. */
  readonly next: string;
}

export const fansOut: Target = { mark: "fan:list", next: "fan:item" };

export const targets: readonly Target[] = [
  { mark: "chain:b", next: "chain:c" },
  { mark: "diamond:c", next: "diamond:d" },
  fansOut,
  { mark: "fan:item3", next: "fan:sum" },
  { mark: "nested:b", next: "nested:after" },
];

const input = z.custom<NodePlan>();

/** Of one queue. The node that is called `paying` ends in a transaction of its own. */
export function makeShapes(
  queue: string,
  paying: { label: string; task: typeof work } | undefined,
) {
  const taskOf = (label: string): typeof work => (label === paying?.label ? paying.task : work);
  const options = { queue };

  const chain = defineWorkflow({
    name: `chain in ${queue}`,
    input,
    build: (flow, plan) => {
      const a = flow.node("a", work, { label: "chain:a", plan, parts: [] }, options);
      const b = flow.node(
        "b",
        taskOf("chain:b"),
        { label: "chain:b", plan, parts: [a.output] },
        options,
      );
      const c = flow.node("c", work, { label: "chain:c", plan, parts: [b.output] }, options);
      return c.output.text;
    },
  });

  const diamond = defineWorkflow({
    name: `diamond in ${queue}`,
    input,
    build: (flow, plan) => {
      const a = flow.node("a", work, { label: "diamond:a", plan, parts: [] }, options);
      const b = flow.node("b", work, { label: "diamond:b", plan, parts: [a.output] }, options);
      const c = flow.node(
        "c",
        taskOf("diamond:c"),
        { label: "diamond:c", plan, parts: [a.output] },
        options,
      );
      const d = flow.node(
        "d",
        work,
        { label: "diamond:d", plan, parts: [b.output, c.output] },
        options,
      );
      return d.output.text;
    },
  });

  const fan = defineWorkflow({
    name: `fan in ${queue}`,
    input,
    build: (flow, plan) => {
      const list = flow.node(
        "list",
        taskOf("fan:list"),
        { label: "fan:list", plan, parts: [] },
        options,
      );
      const items = flow.each(
        "items",
        taskOf("fan:item"),
        list.output.items,
        (_item, index) => ({ label: "fan:item", index, plan, parts: [list.output] }),
        options,
      );
      const sum = flow.node("sum", work, { label: "fan:sum", plan, parts: items.output }, options);
      return sum.output.text;
    },
  });

  const inner = defineWorkflow({
    name: `inner in ${queue}`,
    input,
    build: (flow, plan) => {
      const a = flow.node("a", work, { label: "nested:a", plan, parts: [] }, options);
      const b = flow.node(
        "b",
        taskOf("nested:b"),
        { label: "nested:b", plan, parts: [a.output] },
        options,
      );
      return b.output;
    },
  });

  const nested = defineWorkflow({
    name: `nested in ${queue}`,
    input,
    build: (flow, plan) => {
      const run = flow.workflow("run", inner, plan);
      const after = flow.node(
        "after",
        work,
        { label: "nested:after", plan, parts: [run.output] },
        options,
      );
      return after.output.text;
    },
  });

  return { chain, diamond, fan, nested } as const;
}

const said = (label: string, ...parts: readonly string[]): string =>
  textOf(
    label,
    parts.map((text) => ({ text })),
  );
const diamondRoot = said("diamond:a");

/** By shape: what its run results in, and how many tasks it has, those of its nested run included. */
export const expected = {
  chain: { text: said("chain:c", said("chain:b", said("chain:a"))), tasks: 3 },
  diamond: {
    text: said("diamond:d", said("diamond:b", diamondRoot), said("diamond:c", diamondRoot)),
    tasks: 4,
  },
  fan: {
    text: said("fan:sum", ...ITEMS.map((n) => said(`fan:item${n}`, said("fan:list")))),
    tasks: 2 + ITEMS.length,
  },
  nested: { text: said("nested:after", said("nested:b", said("nested:a"))), tasks: 3 },
} as const;
