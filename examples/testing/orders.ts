// orders.ts
import { defineTask, exponential, fail, type Posthaste } from "posthaste";
import { z } from "zod";

export const sendReceipt = defineTask({
  name: "send-receipt",
  input: z.object({ orderId: z.string(), cents: z.number() }),
  run: async ({ orderId, cents }) => `${orderId}: ${(cents / 100).toFixed(2)}`,
});

/** The card service and the app are given, so that a test can give its own. */
export function ordersOf(cards: Cards, app: () => Posthaste) {
  const chargeCard = defineTask({
    name: "charge-card",
    input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
    errors: ["CARD_EXPIRED", "SERVICE_DOWN"],
    retry: exponential({ baseMs: 60_000, maxRetries: 3, retryFor: ["SERVICE_DOWN"] }),
    run: async ({ orderId, cents }, ctx) => {
      const answer = await cards.charge(cents, ctx.signal);
      if (answer === "down") return fail("SERVICE_DOWN");
      if (answer === "expired") return fail("CARD_EXPIRED", "ask for another card");
      await app().send(sendReceipt, { orderId, cents });
      return { charged: cents };
    },
  });
  return { chargeCard, sendReceipt };
}

export interface Cards {
  charge(cents: number, signal: AbortSignal): Promise<"paid" | "expired" | "down">;
}
