// workflow.ts
import { defineWorkflow } from "posthaste";
import { z } from "zod";
import { charge, fetchOrder, packItem, printLabel, writeAudit } from "./tasks.ts";

export const shipOrder = defineWorkflow({
  name: "ship-order",
  version: 1,
  input: z.object({ orderId: z.string() }),
  onError: "fail", // or "pause"
  build: (flow, input) => {
    const order = flow.node("order", fetchOrder, { id: input.orderId });
    const paid = flow.node("paid", charge, { card: order.output.card, total: order.output.total });
    const label = flow.node("label", printLabel, { to: order.output.address }, { after: paid });
    flow.node("audit", writeAudit, { payment: paid.result }); // however the payment ended
    const parcels = flow.each("parcels", packItem, order.output.items, (item) => ({ item }));
    return { label: label.output.url, parcels: parcels.output };
  },
});
