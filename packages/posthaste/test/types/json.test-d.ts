/** Types that survive JSON pass unchanged; types that do not are refused, whether returned or taken. */
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { defineTask } from "../../src/define/define-task.ts";
import type { StorageProblem } from "../../src/define/storable.ts";
import type { ErrorCause, TaskResult } from "../../src/domain/result.ts";
import type { Json } from "../../src/domain/json.ts";
import type { OutputOf } from "../../src/define/task.ts";
import { expectType } from "./expect-type.ts";

/** Compiles when the type may be stored. */
declare function stored<Type>(...fine: [StorageProblem<Type>] extends [never] ? [] : [never]): void;

interface Tree {
  readonly value: string;
  readonly children: readonly Tree[];
  readonly parent?: Tree | null;
}
type Linked = { next: Linked | null; by: Record<string, Linked> };
declare enum Color {
  Red,
  Green = "green",
}
type UserId = string & { readonly __brand: "UserId" };

stored<null>();
stored<undefined>();
stored<void>();
stored<string | number | boolean | null | undefined>();
stored<"a" | 1 | true>();
stored<`order-${number}`>();
stored<Color>();
stored<UserId>();
stored<{ id: UserId; color?: Color; maybe: string | undefined }>();
stored<readonly string[]>();
stored<[string, number, ...boolean[]]>();
stored<readonly [id: string, count: number]>();
type Expression = number | readonly ["+" | "-", Expression, Expression];
stored<Expression>();
stored<Record<string, { n: number }>>();
stored<{ [key: string]: unknown; known: string }>();
stored<Tree>();
stored<Linked>();
stored<Json>();
stored<unknown>();
// oxlint-disable-next-line typescript/no-explicit-any -- the case under test
stored<any>();
// oxlint-disable-next-line typescript/no-explicit-any -- the case under test
stored<{ loose: any; open: unknown; list: any[] }>();
stored<object>();
stored<{}>();
stored<never>();
stored<{ kind: "a"; a: number } | { kind: "b"; b?: string[] }>();
stored<{ name: string; message: string }>();
stored<{ name: string; message: string; stack?: string }>();
stored<ErrorCause>();
stored<TaskResult<{ n: number }, "A">>();
stored<{ size: number; length: number }>();
stored<Partial<Record<"a" | "b", number>>>();
stored<Readonly<Required<{ a?: string }>>>();

const zodOutput = z.object({
  id: z.string().brand("OrderId"),
  lines: z.array(z.object({ sku: z.string(), price: z.number().nullable() })),
  extra: z.record(z.string(), z.json()),
  kind: z.discriminatedUnion("k", [z.object({ k: z.literal(1) }), z.object({ k: z.literal(2) })]),
  pair: z.tuple([z.string(), z.number()]).optional(),
});
stored<z.infer<typeof zodOutput>>();
const valibotOutput = v.object({
  id: v.pipe(v.string(), v.brand("OrderId")),
  lines: v.array(v.object({ sku: v.string(), note: v.optional(v.string()) })),
});
stored<v.InferOutput<typeof valibotOutput>>();
const arktypeOutput = type({ id: "string#id", "lines?": "number[]", state: "'paid'|'open'" });
stored<typeof arktypeOutput.infer>();

// Each of these would arrive as something else, or not at all.
// @ts-expect-error
stored<Date>();
// @ts-expect-error
stored<bigint>();
// @ts-expect-error
stored<symbol>();
// @ts-expect-error
stored<() => void>();
// @ts-expect-error
stored<new () => object>();
// @ts-expect-error
stored<Map<string, number>>();
// @ts-expect-error
stored<ReadonlyMap<string, number>>();
// @ts-expect-error
stored<Set<string>>();
// @ts-expect-error
stored<ReadonlySet<string>>();
// @ts-expect-error
stored<WeakMap<object, string>>();
// @ts-expect-error
stored<RegExp>();
// @ts-expect-error
stored<Error>();
// @ts-expect-error
stored<TypeError>();
// @ts-expect-error
stored<Promise<string>>();
// @ts-expect-error
stored<Buffer>();
// @ts-expect-error
stored<Uint8Array>();
// @ts-expect-error
stored<ArrayBuffer>();
// @ts-expect-error
stored<URL>();
// @ts-expect-error
stored<{ toJSON(): string; n: number }>();
// @ts-expect-error
stored<{ a: { b: { c: Date }[] } }>();
// @ts-expect-error
stored<{ a?: Date }>();
// @ts-expect-error
stored<string | Date>();
// @ts-expect-error
stored<{ kind: "a" } | { kind: "b"; at: Date }>();
// @ts-expect-error
stored<Record<string, bigint>>();
// @ts-expect-error
stored<[string, Date]>();
// @ts-expect-error
stored<(string | undefined)[]>();
// @ts-expect-error
stored<[string, number?]>();
// @ts-expect-error
stored<{ on: () => void }>();
// @ts-expect-error
stored<Tree & { at: Date }>();
interface Comment {
  readonly at: Date;
  readonly replies: readonly Comment[];
}
// @ts-expect-error
stored<Comment>();
// @ts-expect-error
stored<{ a: { b: { c: { d: { e: { f: { g: { h: bigint } } } } } } } }>();

// The messages name the field, and say what to do.
expectType<'"createdAt" cannot be stored as JSON: it is a Date; use .toISOString().'>().is<
  StorageProblem<{ createdAt: Date }>
>();
expectType<'"lines[].price" cannot be stored as JSON: it is a bigint; use a string.'>().is<
  StorageProblem<{ lines: { price: bigint }[] }>
>();
expectType<"the value cannot be stored as JSON: it is a Set; use [...set].">().is<
  StorageProblem<Set<string>>
>();

// The same rule on what a handler returns …
const order = defineTask({ name: "order", run: (): Tree => ({ value: "x", children: [] }) });
expectType<Tree>().is<OutputOf<typeof order>>();
const parsed = defineTask({ name: "parsed", run: (text: string): unknown => JSON.parse(text) });
expectType<unknown>().is<OutputOf<typeof parsed>>();
// @ts-expect-error at is a Date
defineTask({ name: "date", run: () => ({ at: new Date() }) });
defineTask({
  name: "deep date",
  // @ts-expect-error order.at is a Date
  run: async (n: number, ctx) => ({ order: { n, at: new Date(ctx.attempt) } }),
});
// @ts-expect-error a Map
defineTask({ name: "map", run: async () => new Map([["a", 1]]) });
// @ts-expect-error a bigint
defineTask({ name: "bigint", run: () => 1n });
defineTask({
  name: "output schema",
  // @ts-expect-error the schema makes a Date
  output: z.object({ at: z.date() }),
  run: () => ({ at: new Date() }),
});
// A schema may turn it into text before it is stored.
defineTask({
  name: "output transform",
  output: z.object({ at: z.date().transform((at) => at.toISOString()) }),
  run: () => ({ at: new Date() }),
});

// … and on what it takes.
// @ts-expect-error at is a Date
defineTask({ name: "annotated date", run: (input: { at: Date }) => input.at.getTime() });
// @ts-expect-error at is a Date
defineTask({ name: "schema date", input: z.object({ at: z.date() }), run: () => 1 });
// @ts-expect-error at is a Date
defineTask({ name: "contract date", input: z.object({ at: z.date() }) });
// @ts-expect-error at is a Date
defineTask({ name: "valibot date", input: v.object({ at: v.date() }), run: () => 1 });
// @ts-expect-error at is a Date
defineTask({ name: "arktype date", input: type({ at: "Date" }), run: () => 1 });
// @ts-expect-error n is a bigint
defineTask({ name: "bigint", input: z.object({ n: z.bigint() }), run: ({ n }) => String(n) });
