/** Sources of workflows that are as large as they get, for seeing how long the compiler takes. */
const header = `import { z } from "zod";
import { defineTask } from "../../../src/define/define-task.ts";
import { defineWorkflow } from "../../../src/define/define-workflow.ts";
import type { NodeIdOf, NodeResultOf } from "../../../src/define/workflow.ts";
const add = defineTask({
  name: "add",
  errors: ["TOO_MUCH"],
  input: z.object({ n: z.number(), more: z.object({ list: z.array(z.number()) }).optional() }),
  run: ({ n }) => ({ n, name: "x", tags: ["a"], sub: { a: 1, b: "c" } }),
});
const sum = defineTask({ name: "sum", run: (numbers: readonly number[]) => numbers.length });
void sum;
`;

function workflow(lines: readonly string[], last: string): string {
  return `${header}
export const large = defineWorkflow({
  name: "large",
  input: z.object({ n: z.number() }),
  build: (flow, input) => {
    ${lines.join("\n    ")}
  },
});
export const id: NodeIdOf<typeof large> = "${last}";
export type Result = NodeResultOf<typeof large, "${last}">;
`;
}

/** Each node takes three refs of the nodes before it, and comes after a fourth. */
export function chainOf(length: number): string {
  const lines = [`const n0 = flow.node("n0", add, { n: input.n });`];
  for (let i = 1; i < length; i++) {
    const [one, two, three] = [1, 2, 3].map((back) => `n${Math.max(0, i - back)}`);
    const list = `[${one}.output.sub.a, ${two}.output.n]`;
    lines.push(
      `const n${i} = flow.node("n${i}", add, { n: ${one}.output.n, more: { list: ${list} } }, { after: [${three}] });`,
    );
  }
  const last = `n${length - 1}`;
  return workflow([...lines, `return { last: ${last}.output.n };`], last);
}

/** All nodes begin at once, and one takes what they give. */
export function fanOf(width: number): string {
  const names = Array.from({ length: width }, (_, i) => `n${i}`);
  const lines = names.map((name) => `const ${name} = flow.node("${name}", add, { n: input.n });`);
  const outputs = names.map((name) => `${name}.output.n`).join(", ");
  const all = names.join(", ");
  return workflow(
    [
      ...lines,
      `const sums = flow.node("sum", sum, [${outputs}], { after: [${all}] });`,
      `return { sum: sums.output, first: flow.any([${all}]).output.n };`,
    ],
    `n${width - 1}`,
  );
}
