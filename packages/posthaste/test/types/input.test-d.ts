/** The input that `send` takes and the input that `run` receives. */
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { defineTask } from "../../src/define/define-task.ts";
import type { AnyContract, AnyTask, InputOf, SendArguments, Task } from "../../src/define/task.ts";
import type { TaskContext } from "../../src/define/task-context.ts";
import { app } from "./app.ts";
import { expectType } from "./expect-type.ts";

// With a schema: callers give its input type, handlers receive its output type.
const zod = defineTask({
  name: "zod",
  input: z.object({ id: z.string().transform(Number), note: z.string().optional() }),
  run: async (input, ctx) => {
    expectType<{ id: number; note?: string | undefined }>().is<typeof input>();
    expectType<TaskContext>().is<typeof ctx>();
    return input.id;
  },
});
expectType<{ id: string; note?: string | undefined }>().is<InputOf<typeof zod>>();
void app.send(zod, { id: "7" });
void app.send(zod, { id: "7" }, { delayMs: 5 });
// @ts-expect-error the schema takes a string
void app.send(zod, { id: 7 });
// @ts-expect-error id is missing
void app.send(zod, {});
// @ts-expect-error the input is missing
void app.send(zod);
// @ts-expect-error no such field
void app.send(zod, { id: "7", nott: "x" });
// @ts-expect-error no such option
void app.send(zod, { id: "7" }, { delay: 5 });

const valibot = defineTask({
  name: "valibot",
  input: v.object({
    id: v.pipe(v.string(), v.transform(Number)),
    tags: v.optional(v.array(v.string()), []),
  }),
  run: ({ id, tags }) => {
    expectType<number>().is<typeof id>();
    expectType<string[]>().is<typeof tags>();
  },
});
void app.send(valibot, { id: "7" });
// @ts-expect-error the schema takes a string
void app.send(valibot, { id: 7 });

const arktype = defineTask({
  name: "arktype",
  input: type({ id: "string.numeric.parse", "note?": "string" }),
  run: ({ id }) => {
    expectType<number>().is<typeof id>();
  },
});
void app.send(arktype, { id: "7" });
// @ts-expect-error the schema takes a string
void app.send(arktype, { id: 7 });

// A coerced date is a string for callers and a Date for the handler.
const dated = defineTask({
  name: "dated",
  input: z.object({ at: z.iso.datetime().transform((text) => new Date(text)) }),
  run: ({ at }) => at.getTime(),
});
void app.send(dated, { at: "2026-11-15T10:00:00Z" });

defineTask({
  name: "wrong annotation",
  input: z.object({ a: z.number() }),
  // @ts-expect-error the schema makes a number of it
  run: (input: { a: string }) => input.a,
});

// @ts-expect-error no such field in what the schema makes
defineTask({ name: "wrong field", input: z.object({ a: z.number() }), run: ({ b }) => b });

// Without a schema the annotation is the input type, whether or not ctx is used.
interface Order {
  readonly id: number;
  readonly lines: readonly { sku: string; quantity?: number }[];
}
const annotated = defineTask({ name: "annotated", run: (order: Order) => order.id });
expectType<Order>().is<InputOf<typeof annotated>>();
void app.send(annotated, { id: 1, lines: [{ sku: "a" }] });
// @ts-expect-error lines are missing
void app.send(annotated, { id: 1 });

const withContext = defineTask({
  name: "with-context",
  run: async ({ id }: Order, ctx) => {
    expectType<TaskContext>().is<typeof ctx>();
    return id;
  },
});
expectType<Order>().is<InputOf<typeof withContext>>();

const method = defineTask({
  name: "method",
  async run(order: Order, ctx) {
    ctx.log.info({ order: order.id }, "packing");
    return order.lines.length;
  },
});
expectType<Order>().is<InputOf<typeof method>>();

const nullable = defineTask({ name: "nullable", run: (order: Order | null) => order?.id ?? 0 });
void app.send(nullable, null);
// @ts-expect-error the input is missing
void app.send(nullable);

// @ts-expect-error an input that is left out arrives as null, not as undefined
defineTask({ name: "maybe", run: (order?: Order) => order?.id ?? 0 });
const leftOut = defineTask({ name: "optional", run: (order?: Order | null) => order?.id ?? 0 });
void app.send(leftOut);
void app.send(leftOut, null);
void app.send(leftOut, undefined, { delayMs: 5 });
void app.send(leftOut, { id: 1, lines: [] });
// @ts-expect-error lines are missing
void app.send(leftOut, { id: 1 });

const nothing = defineTask({ name: "nothing", run: async (input: null) => input });
void app.send(nothing);
void app.send(nothing, null);
// @ts-expect-error the task takes no input
void app.send(nothing, { a: 1 });

// Unknown and any are allowed: the author takes over the check.
const anything = defineTask({ name: "anything", run: (input: unknown) => typeof input });
expectType<unknown>().is<InputOf<typeof anything>>();
void app.send(anything, { free: "form" });

// No schema and no annotation: no input.
const tick = defineTask({ name: "tick", run: () => 1 });
expectType<null | undefined>().is<InputOf<typeof tick>>();
expectType<[input?: null | undefined, options?: { x: 1 }]>().is<
  SendArguments<typeof tick, { x: 1 }>
>();
void app.send(tick);
void app.send(tick, null);
void app.send(tick, undefined, { delayMs: 5 });
// @ts-expect-error the task takes no input
void app.send(tick, { a: 1 });

const contextOnly = defineTask({
  name: "context-only",
  run: (input, ctx) => {
    expectType<null>().is<typeof input>();
    return ctx.attempt;
  },
});
expectType<null | undefined>().is<InputOf<typeof contextOnly>>();
void app.send(contextOnly);

// A schema that takes undefined makes the input optional.
const optional = defineTask({
  name: "optional",
  input: z.object({ limit: z.number() }).default({ limit: 10 }),
  run: ({ limit }) => limit,
});
void app.send(optional);
void app.send(optional, { limit: 3 });
// @ts-expect-error limit is a number
void app.send(optional, { limit: "3" });

// Tasks of any type fit where any task is taken, and nothing else does.
const tasks: readonly AnyTask[] = [zod, valibot, arktype, annotated, nullable, tick, optional];
const contracts: readonly AnyContract[] = tasks;
const generic: readonly Task[] = [zod, annotated, tick];
void contracts;
void generic;
// @ts-expect-error a task is made by defineTask
const fake: AnyTask = { name: "fake", run: () => 1 };
void fake;

// A handler can be called directly in a unit test, with its own types.
declare const ctx: TaskContext;
const direct = zod.run({ id: 7 }, ctx);
void direct;
// @ts-expect-error run receives what the schema makes
void zod.run({ id: "7" }, ctx);
