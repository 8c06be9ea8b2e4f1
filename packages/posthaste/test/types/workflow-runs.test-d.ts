/** The handle of a run knows the workflow's nodes, their results, and its output. */
import { defineTask } from "../../src/define/define-task.ts";
import { defineWorkflow } from "../../src/define/define-workflow.ts";
import type { NodeInfo, NodeResults, WorkflowInfo } from "../../src/define/workflow-run.ts";
import type { ResultCode } from "../../src/domain/errors.ts";
import { fail, type TaskResult } from "../../src/domain/result.ts";
import type { WorkflowStatus } from "../../src/domain/workflow-lifecycle.ts";
import type { Posthaste } from "../../src/index.ts";
import { expectType } from "./expect-type.ts";

const charge = defineTask({
  name: "charge",
  errors: ["CARD_EXPIRED"],
  run: async (total: number) => (total > 3 ? fail("CARD_EXPIRED") : { receipt: "r" }),
});
const print = defineTask({ name: "print", run: (receipt: string) => ({ url: receipt }) });

const ship = defineWorkflow({
  name: "ship",
  build: (flow) => {
    const paid = flow.node("paid", charge, 3);
    const label = flow.node("label", print, paid.output.receipt);
    return { url: label.output.url };
  },
});

declare const app: Posthaste;

async function typed(): Promise<void> {
  const run = app.workflow(ship, "0190a000-0000-7000-8000-000000000000");

  const result = await run.result({ timeoutMs: 5 });
  expectType<TaskResult<{ url: string }, ResultCode>>().is<typeof result>();
  const value = await run.value();
  expectType<{ url: string }>().is<typeof value>();
  const status = await run.status();
  expectType<WorkflowStatus>().is<typeof status>();
  const ofPaid = await run.resultFor("paid");
  expectType<TaskResult<{ receipt: string }, "CARD_EXPIRED" | ResultCode> | null>().is<
    typeof ofPaid
  >();
  const ofLabel = await run.resultFor("label");
  expectType<TaskResult<{ url: string }, ResultCode> | null>().is<typeof ofLabel>();
  // @ts-expect-error there is no such node
  await run.resultFor("lable");

  const results: NodeResults<typeof ship> = await run.results();
  const paid = results.paid;
  expectType<TaskResult<{ receipt: string }, "CARD_EXPIRED" | ResultCode> | undefined>().is<
    typeof paid
  >();
  // @ts-expect-error there is no such node
  void results.lable;

  const nodes = await run.nodes();
  expectType<readonly NodeInfo[]>().is<typeof nodes>();
  const info = await run.info();
  expectType<WorkflowInfo>().is<typeof info>();
  const paused = await run.pause();
  expectType<boolean>().is<typeof paused>();
  const resumed = await run.resume();
  expectType<boolean>().is<typeof resumed>();
  const cancelled = await run.cancel();
  expectType<"cancelled" | "requested" | "finished">().is<typeof cancelled>();
  await run.retryFrom("paid", "label");
  // @ts-expect-error from which node?
  await run.retryFrom();
  // @ts-expect-error there is no such node
  await run.retryFrom("paid", "lable");

  const started = await app.start(ship);
  expectType<typeof run>().is<typeof started>();
  // @ts-expect-error what defineTask() returns is no workflow
  app.workflow(charge, run.id);
}
void typed;
