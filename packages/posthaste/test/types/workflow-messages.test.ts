/** The messages that a mistake in a workflow prints: run through the compiler once, since a type test cannot read them. */
import { beforeAll, describe, expect, test } from "vitest";
import { compile, errorsByLine } from "./compile.ts";

const workflow = (body: string): string =>
  `defineWorkflow({ name: "w", build: (flow) => ${body} });`;

/** One line of TypeScript, and what the compiler must say about it. */
const cases: readonly (readonly [line: string, says: string])[] = [
  [
    `flow.node("x", charge, { total: order.output.id });`,
    `Type 'string' is not assignable to type 'number'.`,
  ],
  [
    `flow.node("x", charge, { total: order.output.totl });`,
    `Property 'totl' does not exist on type 'Ref<{ id: string; total: number; }`,
  ],
  [
    `flow.node("x", charge, {});`,
    `Argument of type '{}' is not assignable to parameter of type 'RefTo<{ total: number; note?: string; }, unknown> | { readonly total: number | RefTo<number, unknown>;`,
  ],
  [`flow.node("x", charge);`, `Expected 3-4 arguments, but got 2.`],
  [
    `flow.node("x", charge, { total: 1, bonus: 2 });`,
    `Object literal may only specify known properties, and 'bonus' does not exist in type`,
  ],
  [
    `flow.node("x", charge, { total: order });`,
    `Type 'NewNode<"order", { id: string; total: number; }, never, never>' is not assignable to type 'number | RefTo<number, unknown>'.`,
  ],
  [
    `flow.node("x", charge, { total: order.result });`,
    `Type 'TaskResult<{ id: string; total: number; }`,
  ],
  [`flow.node("x", charge, { total: 1 }, { prioritty: 1 });`, `Did you mean to write 'priority'?`],
  [
    `flow.node("x", charge, { total: 1 }, { retry: fixed({ intervalsMs: [1], retryFor: ["BUSY"] }) });`,
    `"BUSY" is neither a built-in code nor one of the task's errors.`,
  ],
  [
    `flow.each("x", charge, order.output.total, () => ({ total: 1 }));`,
    `Type 'number' is not assignable to type 'readonly unknown[]'.`,
  ],
  [
    `flow.each("x", charge, lists.output, (n) => ({ total: n, bonus: 2 }));`,
    `the input has no "bonus".`,
  ],
  [
    workflow(`flow.node("t", tick)`),
    `what build returns is a node or a join; return its .output or .result.`,
  ],
  [
    workflow(`({ a: { b: [flow.node("t", tick)] } })`),
    `"a.b[]" is a node or a join; return its .output or .result.`,
  ],
  [
    workflow(`({ at: new Date(), t: flow.node("t", tick).output })`),
    `"at" cannot be stored as JSON: it is a Date; use .toISOString().`,
  ],
  [
    `defineWorkflow({ name: "w", build: async (flow) => void flow.node("t", tick) });`,
    `build returns a promise; it writes the graph at once, and the tasks do the waiting.`,
  ],
  [
    `defineWorkflow({ name: "w", input: z.object({ at: z.date() }), build: (flow) => void flow.node("t", tick) });`,
    `"at" cannot be stored as JSON: it is a Date; use .toISOString().`,
  ],
  [
    `export type Result = NodeResultOf<typeof known, "adit">;`,
    `Type '"adit"' does not satisfy the constraint '"audit" | "order"'.`,
  ],
];

const header = [
  `import { z } from "zod";`,
  `import { defineTask, defineWorkflow, fixed, type Flow, type NodeResultOf } from "../../../src/index.ts";`,
  `const fetchOrder = defineTask({ name: "f", run: (id: string) => ({ id, total: 3 }) });`,
  `const charge = defineTask({ name: "c", run: (input: { total: number; note?: string }) => input.total });`,
  `const tick = defineTask({ name: "t", run: () => [1] });`,
  `declare const flow: Flow;`,
  `const order = flow.node("order", fetchOrder, "1");`,
  `const lists = flow.node("lists", tick);`,
  `const known = defineWorkflow({ name: "k", build: (f) => f.node("audit", charge, f.node("order", fetchOrder, "1").output).output });`,
  `void [z, fixed, order, lists, known];`,
];

let errors: ReadonlyMap<number, string>;

beforeAll(async () => {
  errors = errorsByLine(await compile([...header, ...cases.map(([line]) => line), ""].join("\n")));
});

describe("compiler messages about workflows", () => {
  test.each(cases.map(([line, says], index) => ({ line, says, at: header.length + index + 1 })))(
    "$line",
    ({ says, at }) => {
      // The compiler prints the message as a string literal, quotes escaped.
      expect(errors.get(at)?.replaceAll('\\"', '"')).toContain(says);
    },
  );

  test("report each mistake once, and no other", () => {
    expect([...errors.keys()]).toEqual(cases.map((_, index) => header.length + index + 1));
  });
});
