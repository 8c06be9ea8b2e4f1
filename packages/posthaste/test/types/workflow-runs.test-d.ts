/** What may be asked of a run, and what `start` takes. */
import { z } from "zod";
import type { Posthaste } from "../../src/index.ts";
import { defineTask } from "../../src/define/define-task.ts";
import { defineWorkflow } from "../../src/define/define-workflow.ts";
import type { ResultCode } from "../../src/domain/errors.ts";
import { fail, type TaskResult } from "../../src/domain/result.ts";
import { expectType } from "./expect-type.ts";

declare const app: Posthaste;

const fetchOrder = defineTask({
  name: "fetch",
  input: z.object({ id: z.string() }),
  run: async ({ id }) => ({ id, total: 3 }),
});
const charge = defineTask({
  name: "charge",
  errors: ["DECLINED"],
  input: z.object({ total: z.number() }),
  run: async ({ total }) => (total > 3 ? fail("DECLINED") : { receipt: "r" }),
});
const ship = defineWorkflow({
  name: "ship",
  input: z.object({ orderId: z.string() }),
  build: (flow, input) => {
    const order = flow.node("order", fetchOrder, { id: input.orderId });
    const paid = flow.node("paid", charge, { total: order.output.total });
    return { receipt: paid.output.receipt };
  },
});
const inert = defineWorkflow({
  name: "inert",
  build: (flow) => flow.node("f", fetchOrder, { id: "x" }).output.id,
});

type ValueOf<Result> = Result extends { readonly ok: true; readonly value: infer Value }
  ? Value
  : never;
type FailureCode<Result> = Result extends {
  readonly ok: false;
  readonly error: { readonly code: infer Code };
}
  ? Code
  : never;

export async function runs(): Promise<void> {
  const run = await app.start(ship, { orderId: "o-1" });
  const result: TaskResult<{ receipt: string }, ResultCode> = await run.result();
  void result;
  const paid = await run.resultFor("paid");
  expectType<"DECLINED" | ResultCode>().is<FailureCode<typeof paid>>();
  expectType<{ receipt: string }>().is<ValueOf<typeof paid>>();
  const order = await run.resultFor("order");
  expectType<{ id: string; total: number }>().is<ValueOf<typeof order>>();
  await run.retryFrom("paid", "order");
  await app.start(inert);
  await app.start(inert, undefined, { key: "k" });

  // @ts-expect-error -- there is no such node
  await run.resultFor("payed");
  // @ts-expect-error -- there is no such node
  await run.retryFrom("payed");
  // @ts-expect-error -- at least one node
  await run.retryFrom();
  // @ts-expect-error -- the run's input is missing
  await app.start(ship);
  // @ts-expect-error -- the run's input is of another type
  await app.start(ship, { orderId: 1 });
  // @ts-expect-error -- it takes no input
  await app.start(inert, { orderId: "o-1" });
  // @ts-expect-error -- a task is no workflow
  await app.start(charge, { total: 1 });
  // @ts-expect-error -- there is no such option
  await app.start(ship, { orderId: "o-1" }, { delayMs: 1 });
}
