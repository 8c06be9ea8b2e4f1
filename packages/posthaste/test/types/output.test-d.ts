/** The content of a result. */
import { z } from "zod";
import { defineTask } from "../../src/define/define-task.ts";
import type { CodeOf, OutputOf } from "../../src/define/task.ts";
import type { StandardSchema } from "../../src/define/schema.ts";
import type { TaskContext } from "../../src/define/task-context.ts";
import { fail, type Failure, type TaskResult } from "../../src/domain/result.ts";
import type { ResultCode } from "../../src/domain/errors.ts";
import { app } from "./app.ts";
import { expectType } from "./expect-type.ts";

const charge = defineTask({
  name: "charge",
  input: z.object({ cents: z.number() }),
  errors: ["CARD_EXPIRED", "CARD_STOLEN"],
  run: async ({ cents }, ctx) => {
    if (cents > 1_000) return fail("CARD_EXPIRED", "ran out in May", { cents });
    if (ctx.attempt > 2) return fail("CARD_STOLEN");
    return { receipt: `r-${cents}`, cents };
  },
});
// A failure is not part of the output.
expectType<{ receipt: string; cents: number }>().is<OutputOf<typeof charge>>();
expectType<"CARD_EXPIRED" | "CARD_STOLEN" | ResultCode>().is<CodeOf<typeof charge>>();

// The result of a handle needs no annotation, and narrows.
const handle = await app.send(charge, { cents: 5 });
const result = await handle.result();
expectType<
  TaskResult<{ receipt: string; cents: number }, "CARD_EXPIRED" | "CARD_STOLEN" | ResultCode>
>().is<typeof result>();
if (result.ok) {
  expectType<string>().is<typeof result.value.receipt>();
} else {
  void (result.error.code === "CARD_EXPIRED");
  void (result.error.code === "TASK_TIMEOUT");
  // @ts-expect-error no such code
  void (result.error.code === "CARD_EXPIERD");
}
// @ts-expect-error a result may be a failure
void result.value;

// Synchronous and asynchronous handlers alike.
const sync = defineTask({ name: "sync", run: () => ({ n: 1 }) });
expectType<{ n: number }>().is<OutputOf<typeof sync>>();
const nested = defineTask({ name: "nested", run: async () => Promise.resolve([1, 2]) });
expectType<number[]>().is<OutputOf<typeof nested>>();

// The any of JSON.parse stays any.
const parsed = defineTask({ name: "parsed", run: async (text: string) => JSON.parse(text) });
expectType<unknown>().is<unknown extends OutputOf<typeof parsed> ? unknown : never>();
const opaque = defineTask({ name: "opaque", run: async (): Promise<unknown> => 1 });
expectType<unknown>().is<OutputOf<typeof opaque>>();

// A handler from elsewhere brings its own types.
interface Receipt {
  readonly total: number;
  readonly note?: string;
}
async function bill(order: { id: string }, context: TaskContext): Promise<Receipt | Failure<"NO">> {
  return order.id === context.taskId ? fail("NO") : { total: 1 };
}
const billed = defineTask({ name: "billed", errors: ["NO"], run: bill });
expectType<Receipt>().is<OutputOf<typeof billed>>();
const checked = defineTask({
  name: "checked",
  input: z.object({ id: z.string() }),
  errors: ["NO"],
  run: bill,
});
expectType<Receipt>().is<OutputOf<typeof checked>>();
// @ts-expect-error NO is not listed
defineTask({ name: "unlisted", run: bill });

// In a generic function a schema that takes unknown leaves the check to run time.
export function save<Row extends { id: string }>(schema: StandardSchema<unknown, Row>) {
  return defineTask({ name: "save", input: schema, run: (row) => row.id });
}

// Undefined as a whole is stored as null, so that is what a caller reads.
const nothing = defineTask({ name: "nothing", run: async () => {} });
expectType<null>().is<OutputOf<typeof nothing>>();
const sometimes = defineTask({
  name: "sometimes",
  run: (n: number) => (n > 1 ? "many" : undefined),
});
expectType<"many" | null>().is<OutputOf<typeof sometimes>>();
const never = defineTask({
  name: "never",
  run: async () => {
    throw new Error("always");
  },
});
expectType<never>().is<OutputOf<typeof never>>();
const failing = defineTask({ name: "failing", errors: ["NO"], run: async () => fail("NO") });
expectType<never>().is<OutputOf<typeof failing>>();

// With an output schema the handler returns what the schema takes and callers read what it makes.
const priced = defineTask({
  name: "priced",
  output: z.object({ total: z.number().transform((n) => n.toFixed(2)) }),
  run: () => ({ total: 3 }),
});
expectType<{ total: string }>().is<OutputOf<typeof priced>>();

const status = defineTask({
  name: "status",
  input: z.object({ id: z.string() }),
  output: z.object({ state: z.enum(["paid", "open"]), lines: z.array(z.literal(1)) }),
  errors: ["GONE"],
  run: async ({ id }) => {
    if (id === "") return fail("GONE");
    if (id === "1") return { state: "open", lines: [] };
    return { state: "paid", lines: [1] };
  },
});
expectType<{ state: "paid" | "open"; lines: 1[] }>().is<OutputOf<typeof status>>();

// A handler without an unannotated parameter is read before its schema is known, and says `as const`.
defineTask({
  name: "as const",
  output: z.object({ state: z.literal("paid") }),
  run: () => ({ state: "paid" }) as const,
});

defineTask({
  name: "wrong value",
  output: z.object({ total: z.number() }),
  // @ts-expect-error the schema takes a number
  run: () => ({ total: "3" }),
});
defineTask({
  name: "wrong literal",
  input: z.string(),
  output: z.object({ state: z.enum(["paid", "open"]) }),
  // @ts-expect-error not one of the two
  run: (input) => ({ state: input }),
});
defineTask({
  name: "missing field",
  output: z.object({ total: z.number(), tax: z.number() }),
  // @ts-expect-error tax is missing
  run: async () => ({ total: 3 }),
});
defineTask({
  name: "wrong code beside a schema",
  output: z.number(),
  errors: ["GONE"],
  // @ts-expect-error not one of the errors
  run: (n: number) => (n > 1 ? fail("AWAY") : n),
});
