/** The values that `build` may write: refs of the right type at any depth, and nothing else. */
import { z } from "zod";
import { exponential } from "../../src/define/retry-policies.ts";
import type { Flow } from "../../src/define/flow.ts";
import type { Ref, RefTo } from "../../src/define/ref-types.ts";
import { defineTask } from "../../src/define/define-task.ts";
import type { ResultCode } from "../../src/domain/errors.ts";
import type { Json } from "../../src/domain/json.ts";
import { fail, type TaskResult } from "../../src/domain/result.ts";
import { expectType } from "./expect-type.ts";

interface Order {
  readonly id: string;
  readonly total: number;
  readonly speed: "express" | "normal";
  readonly address: { readonly city: string; readonly zip?: string } | null;
  readonly items: readonly { readonly sku: string; readonly note?: string }[];
  readonly pair: readonly [id: string, count: number];
  readonly counts: Readonly<Record<string, number>>;
}
interface Tree {
  readonly value: string;
  readonly children: readonly Tree[];
}

const fetchOrder = defineTask({
  name: "fetch-order",
  input: z.object({ id: z.string() }),
  run: async ({ id }): Promise<Order> => JSON.parse(id) as Order,
});
const charge = defineTask({
  name: "charge",
  errors: ["CARD_EXPIRED"],
  input: z.object({
    total: z.number(),
    note: z.string().optional(),
    speed: z.enum(["express", "normal"]).optional(),
    card: z.object({ number: z.string(), names: z.array(z.string()) }).optional(),
  }),
  run: async ({ total }) => (total > 3 ? fail("CARD_EXPIRED") : { receipt: "r" }),
});
const audit = defineTask({
  name: "audit",
  run: (input: { payment: TaskResult<{ receipt: string }> }) => input.payment.ok,
});
const sum = defineTask({ name: "sum", run: (numbers: readonly number[]) => numbers.length });
const plant = defineTask({ name: "plant", run: (input: { tree: Tree; json: Json }) => input });
const tick = defineTask({ name: "tick", run: () => 1 });
const loose = defineTask({ name: "loose", run: (text: string) => JSON.parse(text) });
const open = defineTask({ name: "open", run: (input: unknown) => typeof input });

declare const flow: Flow;
declare const input: Ref<{ orderId: string; express: boolean }>;
declare const tree: Tree;
declare const json: Json;

const order = flow.node("order", fetchOrder, { id: input.orderId });
const paid = flow.node("paid", charge, { total: order.output.total });

/** The type of the value that a ref stands for. */
declare function valueOf<Value>(ref: RefTo<Value>): Value;
const total = valueOf(order.output.total);
expectType<number>().is<typeof total>();

// Parts: of what may be null they may be missing, and so may elements and entries.
const city = valueOf(order.output.address.city);
expectType<string | undefined>().is<typeof city>();
const zip = valueOf(order.output.address.zip);
expectType<string | undefined>().is<typeof zip>();
const first = valueOf(order.output.items[0].sku);
expectType<string | undefined>().is<typeof first>();
const count = valueOf(order.output.pair[1]);
expectType<number>().is<typeof count>();
const entry = valueOf(order.output.counts["a"] ?? order.output.total);
expectType<number | undefined>().is<typeof entry>();
const result = valueOf(paid.result);
expectType<TaskResult<{ receipt: string }, "CARD_EXPIRED" | ResultCode>>().is<typeof result>();
const value = valueOf(paid.result.value.receipt);
expectType<string | undefined>().is<typeof value>();
const code = valueOf(paid.result.error.code);
expectType<"CARD_EXPIRED" | ResultCode | undefined>().is<typeof code>();
// @ts-expect-error no such part
void order.output.totl;
// @ts-expect-error numbers have no parts
void order.output.total.toFixed;
// @ts-expect-error lists have elements, and their length is not known
void order.output.items.length;
// @ts-expect-error nor can they be mapped
void order.output.items.map;

// A ref may stand for any part, or for the whole.
flow.node("whole", fetchOrder, input.orderId ? { id: input.orderId } : { id: "" });
flow.node("subtype", fetchOrder, order.output);
flow.node("deep", charge, {
  total: 1,
  card: { number: order.output.id, names: ["a", order.output.id, order.output.pair[0]] },
});
flow.node("list", sum, [1, order.output.total]);
flow.node("literal", charge, { total: 1, speed: "express" });
flow.node("literal ref", charge, { total: 1, speed: order.output.speed });
flow.node("recursive", plant, { tree: { value: "", children: [tree] }, json: { a: [json, 1] } });
const planted = flow.node("planted", plant, { tree, json });
flow.node("recursive refs", plant, {
  tree: { value: planted.output.tree.value, children: planted.output.tree.children },
  json: { deep: [planted.output.json] },
});
flow.node("anything", open, { a: [order.output, paid.result] });
const parsed = flow.node("parsed", loose, "{}");
flow.node("any fits", charge, { total: parsed.output });

// A value that may be missing fits where a property may be left out.
flow.node("optional", charge, { total: 1, note: order.output.address.city });
// @ts-expect-error the id may be missing
flow.node("required", fetchOrder, { id: order.output.address.city });

// Mistakes.
// @ts-expect-error a text where a number is taken
flow.node("wrong ref", charge, { total: order.output.id });
// @ts-expect-error a number where a text is taken
flow.node("wrong value", fetchOrder, { id: 1 });
// @ts-expect-error total is missing
flow.node("missing part", charge, {});
// @ts-expect-error the input is missing
flow.node("missing input", charge);
// @ts-expect-error no task reads it
flow.node("too much", charge, { total: 1, bonus: 2 });
// @ts-expect-error no task reads it, deep inside
flow.node("too much inside", charge, { total: 1, card: { number: "", names: [], pin: "" } });
// @ts-expect-error a result where a value is taken
flow.node("result", charge, { total: paid.result });
// @ts-expect-error an output where a result is taken
flow.node("output", audit, { payment: paid.output });
// @ts-expect-error a node where a value is taken
flow.node("node", charge, { total: paid });
// @ts-expect-error not one of the two
flow.node("wrong literal", charge, { total: 1, speed: "slow" });
// @ts-expect-error a ref to another literal type
flow.node("wrong literal ref", charge, { total: 1, speed: order.output.id });
// @ts-expect-error an element of another type
flow.node("wrong element", sum, [1, order.output.id]);
// @ts-expect-error the task takes no input
flow.node("no input", tick, { a: 1 });
// @ts-expect-error a ref is no text
void `${order.output.total + 1}`;
// @ts-expect-error nor can it be iterated
void [...order.output.items];

// Options.
flow.node("none", tick);
flow.node("after one", tick, undefined, { after: paid });
flow.node("after many", tick, undefined, { after: [paid, flow.any([order, paid])] });
flow.node("until", tick, undefined, { goodUntil: order.output.id });
flow.node("until date", tick, undefined, { goodUntil: new Date(), queue: "q", priority: 3 });
const again = exponential({ baseMs: 1, maxRetries: 1, retryFor: ["CARD_EXPIRED"] });
flow.node("retries", charge, { total: 1 }, { retry: again, flags: ["loud"], goodForMs: 5 });
// @ts-expect-error a code that the task does not have
flow.node("unknown code", fetchOrder, { id: "" }, { retry: again });
// @ts-expect-error no such option
flow.node("unknown option", tick, undefined, { prioritty: 3 });
// @ts-expect-error a ref is no node
flow.node("after a ref", tick, undefined, { after: paid.output });
// @ts-expect-error an id is no node
flow.node("after an id", tick, undefined, { after: "paid" });
// @ts-expect-error a number is no instant
flow.node("until a number", tick, undefined, { goodUntil: order.output.total });

// Fan-out.
const packed = flow.each("packed", charge, order.output.items, (item, index) => ({
  total: index,
  note: item.sku,
}));
const outputs = valueOf(packed.output);
expectType<{ receipt: string }[]>().is<typeof outputs>();
const results = valueOf(packed.results);
expectType<TaskResult<{ receipt: string }, "CARD_EXPIRED" | ResultCode>[]>().is<typeof results>();
const outcome = valueOf(packed.result);
expectType<TaskResult<{ receipt: string }[], ResultCode>>().is<typeof outcome>();
flow.each("options", tick, order.output.items, () => undefined, { after: [paid], queue: "bulk" });
// @ts-expect-error not a list
flow.each("no list", charge, order.output.total, () => ({ total: 1 }));
// @ts-expect-error items that are known already
flow.each("known", charge, [1, 2], () => ({ total: 1 }));
// @ts-expect-error a text where a number is taken
flow.each("wrong item", charge, order.output.items, (item) => ({ total: item.sku }));
// @ts-expect-error no task reads it
flow.each("too much", charge, order.output.items, () => ({ total: 1, bonus: 2 }));
// @ts-expect-error total is missing
flow.each("missing", charge, order.output.items, () => ({}));

// Joins.
const either = valueOf(flow.any([order, paid]).output);
expectType<Order | { receipt: string }>().is<typeof either>();
const two = valueOf(flow.quorum(2, [order, paid, packed]).output);
expectType<(Order | { receipt: string } | { receipt: string }[])[]>().is<typeof two>();
flow.any([flow.quorum(1, [order]), paid]);
// @ts-expect-error refs are no nodes
flow.any([order.output]);

// Conditions.
const gated = flow.when(input.express, () => flow.node("gated", tick));
const gatedValue = valueOf(gated.output);
expectType<number>().is<typeof gatedValue>();
const [fast, slow] = flow.when(
  flow.equals(order.output.speed, "express"),
  () => flow.node("fast", tick),
  () => flow.node("slow", audit, { payment: paid.result }),
);
const way = valueOf(flow.any([fast, slow]).output);
expectType<number | boolean>().is<typeof way>();
flow.when(flow.not(flow.equals(order.output.address, null)), () => undefined);
flow.equals(order.output.address.city, "Ulm");
// @ts-expect-error what is missing is like nothing
flow.equals(order.output.address.city, undefined);
// @ts-expect-error it will never be that
flow.equals(order.output.speed, "fast");
// @ts-expect-error what is known already is decided by an if
flow.when(true, () => flow.node("known", tick));
