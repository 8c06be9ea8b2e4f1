/** The workflows of a chaos run, and what each must result in. */
import { defineWorkflow } from "posthaste";
import { z } from "zod";
import {
  asideNode,
  narrowNode,
  onceNode,
  payNode,
  quickNode,
  slowNode,
  textOf,
  witnessNode,
  type Dice,
} from "./node-tasks.ts";

const input = z.custom<Dice>();

export const chain = defineWorkflow({
  name: "chain",
  input,
  build: (flow, dice) => {
    const a = flow.node("a", quickNode, { label: "a", dice, parts: [] });
    const b = flow.node("b", slowNode, { label: "b", dice, parts: [a.output] });
    const c = flow.node("c", payNode, { label: "c", dice, parts: [b.output] });
    return flow.node("d", asideNode, { label: "d", dice, parts: [c.output] }).output.text;
  },
});

const diamond = defineWorkflow({
  name: "diamond",
  input,
  build: (flow, dice) => {
    const a = flow.node("a", quickNode, { label: "a", dice, parts: [] });
    const b = flow.node("b", slowNode, { label: "b", dice, parts: [a.output] });
    const c = flow.node("c", quickNode, { label: "c", dice, parts: [a.output] });
    const e = flow.node("e", narrowNode, { label: "e", dice, parts: [a.output] });
    const parts = [b.output, c.output, e.output];
    const d = flow.node("d", quickNode, { label: "d", dice, parts });
    return { text: d.output.text, c: c.result.ok };
  },
});

/** The same, except that a failure pauses it. */
const pausing = defineWorkflow({
  name: "pausing",
  input,
  onError: "pause",
  build: (flow, dice) => {
    const a = flow.node("a", quickNode, { label: "a", dice, parts: [] });
    const b = flow.node("b", onceNode, { label: "b", dice, parts: [a.output] });
    const c = flow.node("c", quickNode, { label: "c", dice, parts: [a.output] });
    const d = flow.node("d", payNode, { label: "d", dice, parts: [b.output, c.output] });
    const seen = flow.node("seen", witnessNode, { label: "seen", of: c.result });
    return { text: d.output.text, seen: seen.output.text };
  },
});

const fan = defineWorkflow({
  name: "fan",
  input,
  build: (flow, dice) => {
    const list = flow.node("list", quickNode, { label: "list", dice, parts: [] });
    const items = flow.each(
      "items",
      slowNode,
      dice.items,
      (_item, index) => ({ label: "item", index, dice, parts: [list.output] }),
      { after: [list] },
    );
    return flow.node("sum", quickNode, { label: "sum", dice, parts: items.output }).output.text;
  },
});

const inner = defineWorkflow({
  name: "inner",
  input,
  build: (flow, dice) => {
    const x = flow.node("x", quickNode, { label: "x", dice, parts: [] });
    const y = flow.node("y", slowNode, { label: "y", dice, parts: [x.output] });
    return y.output;
  },
});

const nested = defineWorkflow({
  name: "nested",
  input,
  build: (flow, dice) => {
    const before = flow.node("before", quickNode, { label: "before", dice, parts: [] });
    const one = flow.workflow("one", inner, dice, { after: [before] });
    const many = flow.each("many", inner, dice.items, () => dice, { after: [one] });
    const parts = many.output;
    return flow.node("after", payNode, { label: "after", dice, parts }).output.text;
  },
});

/** Joins that do not wait for all, a branch that is skipped, a node that may fail, and one that is late now and then. */
const joins = defineWorkflow({
  name: "joins",
  input,
  success: { optional: ["c", "late"] },
  build: (flow, dice) => {
    const a = flow.node("a", slowNode, { label: "a", dice, parts: [] });
    const b = flow.node("b", quickNode, { label: "b", dice, parts: [] });
    const c = flow.node("c", asideNode, { label: "c", dice, parts: [] });
    const two = flow.quorum(2, [a, b, c]);
    const most = flow.node("most", quickNode, { label: "most", dice, parts: two.output });
    const first = flow.any([a, b]);
    const one = flow.node("one", quickNode, { label: "one", dice, parts: [first.output] });
    flow.when(
      dice.isExpress,
      () => flow.node("fast", quickNode, { label: "fast", dice, parts: [] }),
      () => flow.node("usual", quickNode, { label: "usual", dice, parts: [] }),
    );
    const late = flow.node(
      "late",
      narrowNode,
      { label: "late", dice, parts: [] },
      { goodForMs: 300 },
    );
    const seen = flow.node("seen", witnessNode, { label: "seen", of: late.result });
    return { most: most.output.text, one: one.output.text, seen: seen.output.text };
  },
});

interface Shape {
  readonly workflow:
    | typeof chain
    | typeof diamond
    | typeof pausing
    | typeof fan
    | typeof nested
    | typeof joins;
  readonly weight: number;
  /** Marks of nodes that may be made to fail. */
  readonly mayFail: (dice: Pick<Dice, "items">) => readonly string[];
  /** Every result that a COMPLETED run with this input may have. */
  readonly results: (dice: Dice) => readonly unknown[];
}

const said = (label: string, ...parts: readonly string[]): string =>
  textOf(
    label,
    parts.map((text) => ({ text })),
  );
const a = said("a");
const innerText = said("y", said("x"));
const diamondText = said("d", said("b", a), said("c", a), said("e", a));
const mostOf = [
  [a, said("b")],
  [a, said("c")],
  [said("b"), said("c")],
  [a, said("b"), said("c")],
].map((sources) => said("most", ...sources));

export const shapes: readonly Shape[] = [
  {
    workflow: chain,
    weight: 3,
    mayFail: () => ["b", "d"],
    results: () => [said("d", said("c", said("b", a)))],
  },
  {
    workflow: diamond,
    weight: 3,
    mayFail: () => ["c", "e"],
    results: () => [{ text: diamondText, c: true }],
  },
  {
    workflow: pausing,
    weight: 2,
    mayFail: () => ["c"],
    results: () => [{ text: said("d", said("b", a), said("c", a)), seen: "seen(ok)" }],
  },
  {
    workflow: fan,
    weight: 3,
    mayFail: ({ items }) => items.map((_, n) => `item${n}`),
    results: ({ items }) => [said("sum", ...items.map((_, n) => said(`item${n}`, said("list"))))],
  },
  {
    workflow: nested,
    weight: 2,
    mayFail: () => ["y"],
    results: ({ items }) => [said("after", ...items.map(() => innerText))],
  },
  {
    workflow: joins,
    weight: 2,
    mayFail: () => ["c"],
    results: () =>
      mostOf.flatMap((most) =>
        [a, said("b")].flatMap((source) =>
          ["ok", "TASK_EXPIRED", "WORKER_CRASHED"].map((end) => ({
            most,
            one: said("one", source),
            seen: `seen(${end})`,
          })),
        ),
      ),
  },
];
