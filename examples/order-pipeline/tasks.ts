/** What the nodes of the pipeline do. The shop's books are maps, since all of it runs in one process here. */
import { defineTask, fail, type TaskResult } from "posthaste";
import { z } from "zod";

export const cards = new Map([
  ["ada's", "good"],
  ["bob's", "blocked"],
]);

const orders = new Map([
  ["o-1", { card: "ada's", total: 30, address: "1 Mill Lane", items: ["ink", "pen"] }],
  ["o-2", { card: "bob's", total: 45, address: "2 Hill Road", items: ["lamp", "oil", "wick"] }],
]);

/** How often each handler ran, to see what is run again and what is not. */
export const bodies = { order: 0, paid: 0, label: 0, audit: 0, parcels: 0 };

export const fetchOrder = defineTask({
  name: "fetch-order",
  input: z.object({ id: z.string() }),
  errors: ["NO_SUCH_ORDER"],
  run: async ({ id }) => {
    bodies.order++;
    const order = orders.get(id);
    return order ?? fail("NO_SUCH_ORDER", `there is no order ${id}`);
  },
});

export const charge = defineTask({
  name: "charge",
  input: z.object({ card: z.string(), total: z.number().positive() }),
  errors: ["CARD_DECLINED"],
  run: async ({ card, total }) => {
    bodies.paid++;
    if (cards.get(card) !== "good") return fail("CARD_DECLINED", `${card} card was declined`);
    return { receipt: `${total} from ${card} card` };
  },
});

export const printLabel = defineTask({
  name: "print-label",
  input: z.object({ to: z.string() }),
  run: async ({ to }) => {
    bodies.label++;
    return { url: `https://labels.example.org/${encodeURIComponent(to)}` };
  },
});

export const writeAudit = defineTask({
  name: "write-audit",
  run: async ({ payment }: { payment: TaskResult<{ receipt: string }> }) => {
    bodies.audit++;
    return payment.ok ? `paid: ${payment.value.receipt}` : `not paid: ${payment.error.code}`;
  },
});

export const packItem = defineTask({
  name: "pack-item",
  input: z.object({ item: z.string() }),
  run: async ({ item }) => {
    bodies.parcels++;
    return `a parcel with ${item}`;
  },
});
