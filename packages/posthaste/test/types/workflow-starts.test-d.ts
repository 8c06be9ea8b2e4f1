/** The arguments of `start`. */
import { z } from "zod";
import { defineTask } from "../../src/define/define-task.ts";
import { defineWorkflow } from "../../src/define/define-workflow.ts";
import type { Posthaste } from "../../src/index.ts";

declare const app: Posthaste;

const fetchOrder = defineTask({
  name: "fetch",
  input: z.object({ id: z.string() }),
  run: async ({ id }) => ({ id, total: 3 }),
});
const ship = defineWorkflow({
  name: "ship",
  input: z.object({ orderId: z.string() }),
  build: (flow, input) => flow.node("order", fetchOrder, { id: input.orderId }).output.total,
});
const inert = defineWorkflow({
  name: "inert",
  build: (flow) => flow.node("f", fetchOrder, { id: "x" }).output.id,
});

export async function starts(): Promise<void> {
  await app.start(ship, { orderId: "o-1" }, { key: "k" });
  await app.start(inert);
  await app.start(inert, undefined, { key: "k" });

  // @ts-expect-error -- the run's input is missing
  await app.start(ship);
  // @ts-expect-error -- the run's input is of another type
  await app.start(ship, { orderId: 1 });
  // @ts-expect-error -- it takes no input
  await app.start(inert, { orderId: "o-1" });
  // @ts-expect-error -- a task is no workflow
  await app.start(fetchOrder, { id: "x" });
  // @ts-expect-error -- there is no such option
  await app.start(ship, { orderId: "o-1" }, { delayMs: 1 });
}
