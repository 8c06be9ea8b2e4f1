/** The content of a handler's ctx. Nothing is registered here: see registered-context.test.ts for that. */
import { z } from "zod";
import {
  defineTask,
  fail,
  implement,
  posthaste,
  type OutputOf,
  type Register,
  type TaskContext,
  type TaskHandle,
  type WorkerContext,
} from "../../src/index.ts";
import { expectType } from "./expect-type.ts";

declare const ctx: TaskContext;

// Its content is not registered, so nothing may be assumed.
expectType<unknown>().is<WorkerContext>();
expectType<unknown>().is<typeof ctx.context>();
expectType<never>().is<keyof Register>();
// @ts-expect-error it is unknown
void ctx.context.pool;
posthaste({ context: () => ({ anything: 1 }) });
posthaste({ context: async () => "anything" });
// @ts-expect-error a function makes it, once for each worker
posthaste({ context: { pool: 1 } });

// Progress is what JSON can hold.
ctx.progress({ done: 3, of: 10, notes: ["a", null, true] });
ctx.progress(0.5);
// @ts-expect-error a Date would come back as a string
ctx.progress(new Date());
// @ts-expect-error also inside
ctx.progress({ since: new Date() });
// @ts-expect-error JSON knows no bigint
ctx.progress(5n);
// @ts-expect-error nor functions
ctx.progress(() => 1);
// @ts-expect-error nor undefined
ctx.progress(undefined);
// @ts-expect-error something has to be said
ctx.progress();

// Sending is typed as that of the app.
const child = defineTask({
  name: "child",
  input: z.object({ n: z.string().transform(Number) }),
  run: ({ n }) => n,
});
const silent = defineTask({ name: "silent", run: () => "done" });
expectType<Promise<TaskHandle<typeof child>>>().is<ReturnType<typeof sendChild>>();
function sendChild() {
  return ctx.send(child, { n: "1" }, { delayMs: 5 });
}
void ctx.send(silent);
// @ts-expect-error the input is what the schema takes
void ctx.send(child, { n: 1 });
// @ts-expect-error the task takes an input
void ctx.send(child);
// @ts-expect-error no such option
void ctx.send(child, { n: "1" }, { delay: 5 });

// The task returns the value of the transaction.
const charge = defineTask({
  name: "charge",
  errors: ["NO_FUNDS"],
  run: (cents: number, context) =>
    context.transaction(async (tx) => {
      const { rows } = await tx.query<{ left: number }>("select 5 as left");
      expectType<{ left: number }[]>().is<typeof rows>();
      const [row] = rows;
      return row === undefined || row.left < cents ? fail("NO_FUNDS") : { left: row.left };
    }),
});
expectType<{ left: number }>().is<OutputOf<typeof charge>>();

defineTask({
  name: "own-codes",
  errors: ["NO_FUNDS"],
  // @ts-expect-error not one of the task's codes
  run: (_: null, context) => context.transaction(async () => fail("NO_FUND")),
});
defineTask({
  name: "date",
  // @ts-expect-error a Date cannot be stored, in a transaction as elsewhere
  run: (_: null, context) => context.transaction(async () => new Date()),
});
const schemed = defineTask({ name: "schemed", output: z.object({ left: z.number() }) });
implement(schemed, (_, context) => context.transaction(async () => ({ left: 1 })));
// @ts-expect-error the output schema wants a number
implement(schemed, (_, context) => context.transaction(async () => ({ left: "1" })));
// @ts-expect-error a promise: nothing is committed before it resolves
void ctx.transaction(() => 5);

// ctx.complete returns what it was given, so that it can be returned.
declare const client: { query(text: string, values: unknown[]): Promise<{ rows: unknown[] }> };
const book = defineTask({
  name: "book",
  run: async (seat: string, context) => context.complete({ seat }, { tx: client }),
});
expectType<{ seat: string }>().is<OutputOf<typeof book>>();
// @ts-expect-error inside which transaction?
void ctx.complete({ seat: "12A" });
// @ts-expect-error a transaction can be queried
void ctx.complete({ seat: "12A" }, { tx: {} });

// @ts-expect-error what a handler is told is not its to change
ctx.attempt = 2;
