/** The messages that a mistake prints: run through the compiler once, since a type test cannot read them. */
import { beforeAll, describe, expect, test } from "vitest";
import { compile, errorsByLine } from "./compile.ts";

/** One line of TypeScript, and what the compiler must say about it. */
const cases: readonly (readonly [line: string, says: string])[] = [
  [
    `defineTask({ name: "t", run: () => ({ createdAt: new Date() }) });`,
    `"createdAt" cannot be stored as JSON: it is a Date; use .toISOString().`,
  ],
  [
    `defineTask({ name: "t", run: async (n: number, ctx) => ({ order: { total: 1n, n, a: ctx.attempt } }) });`,
    `"order.total" cannot be stored as JSON: it is a bigint; use a string.`,
  ],
  [
    `defineTask({ name: "t", run: async () => ({ lines: [{ prices: new Map<string, number>() }] }) });`,
    `"lines[].prices" cannot be stored as JSON: it is a Map; use Object.fromEntries(map).`,
  ],
  [
    `defineTask({ name: "t", run: () => ({ a: new Set<string>(), b: /x/ }) });`,
    `"b" cannot be stored as JSON: it is an instance of a class; use a plain object.`,
  ],
  [
    `defineTask({ name: "t", run: () => ({ body: Buffer.from("x") }) });`,
    `"body" cannot be stored as JSON: it is binary data; use a base64 string.`,
  ],
  [
    `defineTask({ name: "t", run: () => ({ cause: new TypeError("x") }) });`,
    `"cause" cannot be stored as JSON: it is an Error; use its message.`,
  ],
  [
    `defineTask({ name: "t", run: () => ({ names: ["a", undefined] }) });`,
    `"names[]" cannot be stored as JSON: it is undefined in an array; use null.`,
  ],
  [
    `defineTask({ name: "t", run: (input: { dueAt: Date }) => input.dueAt.getTime() });`,
    `"dueAt" cannot be stored as JSON: it is a Date; use .toISOString().`,
  ],
  [
    `defineTask({ name: "t", input: z.object({ due: z.object({ at: z.date() }) }), run: ({ due }) => due.at.getTime() });`,
    `"due.at" cannot be stored as JSON: it is a Date; use .toISOString().`,
  ],
  [
    `defineTask({ name: "t", output: z.object({ doneAt: z.date() }), run: () => ({ doneAt: new Date() }) });`,
    `"doneAt" cannot be stored as JSON: it is a Date; use .toISOString().`,
  ],
  [
    `defineTask({ name: "t", run: (input?: { a: number }) => input?.a ?? 0 });`,
    "an input that is left out arrives as null; add `| null` to its type.",
  ],
  [
    `defineTask({ name: "t", errors: ["BUSY"], run: (n: number) => (n > 1 ? fail("BUSSY") : n) });`,
    `"BUSSY" is not one of the task's errors.`,
  ],
  [
    `defineTask({ name: "t", errors: ["TASK_TIMEOUT"], run: () => 1 });`,
    `"TASK_TIMEOUT" is a built-in code; choose another name.`,
  ],
  [
    `defineTask({ name: "t", retry: fixed({ intervalsMs: [1], retryFor: ["WORKER_CRASHD"] }), run: () => 1 });`,
    `"WORKER_CRASHD" is neither a built-in code nor one of the task's errors.`,
  ],
  [`defineTask({ name: "t", priorty: 3, run: () => 1 });`, `Did you mean to write 'priority'?`],
  [
    `implement(defineTask({ name: "t" }), () => ({ at: new Date() }));`,
    `"at" cannot be stored as JSON: it is a Date; use .toISOString().`,
  ],
];

const header = [
  `import { z } from "zod";`,
  `import { defineTask, implement } from "../../../src/define/define-task.ts";`,
  `import { fixed } from "../../../src/define/retry-policies.ts";`,
  `import { fail } from "../../../src/domain/result.ts";`,
  `void [z, fixed, fail];`,
];

let errors: ReadonlyMap<number, string>;

beforeAll(async () => {
  errors = errorsByLine(await compile([...header, ...cases.map(([line]) => line), ""].join("\n")));
});

describe("compiler messages", () => {
  test.each(cases.map(([line, says], index) => ({ line, says, at: header.length + index + 1 })))(
    "$line",
    ({ says, at }) => {
      // The compiler prints the message as a string literal, quotes escaped.
      expect(errors.get(at)?.replaceAll('\\"', '"')).toContain(says);
    },
  );

  test("report each mistake once, and no other", () => {
    const lines = cases.map((_, index) => header.length + index + 1);
    expect([...errors.keys()]).toEqual(lines);
  });
});
