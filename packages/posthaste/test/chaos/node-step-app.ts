/** The app of the workers whose nodes are interrupted at every step. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import {
  defineTask,
  posthaste,
  type AppConfig,
  type CallersTransaction,
  type TaskContext,
} from "posthaste";
import {
  begin,
  misbehaveOnce,
  stepConfig,
  TIMEOUT_MS,
  whateverHappens,
  type Act,
} from "./misbehave.ts";

/** Where a handler goes wrong by itself: just before it returns; or when it has just begun, and is a dependent of the former. */
export type NodeBodyStep = "body returned" | "dependent begun";

/** Of a run; every node gets it. */
export interface NodePlan {
  readonly folder: string;
  /** The handlers of these nodes take longer than the others. */
  readonly last: string;
  /** Which node goes wrong by itself, where and how; null: none. */
  readonly fails: { readonly mark: string; readonly step: NodeBodyStep; readonly act: Act } | null;
}

/** What a node gives to those that follow it. By its mark its end is known on the wire. */
export interface Made {
  readonly claim: string;
  readonly mark: string;
  readonly text: string;
  readonly items: readonly number[];
}

export interface NodeInput {
  readonly label: string;
  readonly index?: number;
  readonly plan: NodePlan;
  readonly parts: readonly Made[];
}

export const ITEMS = [0, 1, 2, 3, 4];
const LAST_MS = 200;
/** By which misbehaving nodes are counted. */
export const MISBEHAVES = "node";

async function make(input: NodeInput, ctx: TaskContext): Promise<Made> {
  const { label, index, plan, parts } = input;
  const said = begin(plan.folder, ctx);
  const mark = `${label}${index ?? ""}`;
  await misbehave("dependent begun", mark, plan, ctx);
  if (mark === plan.last) await sleep(LAST_MS);
  await misbehave("body returned", mark, plan, ctx);
  return { ...said, mark, text: textOf(mark, parts), items: ITEMS };
}

/** What a node says can be told from the graph. */
export function textOf(mark: string, parts: readonly { readonly text: string }[]): string {
  return `${mark}(${parts.map(({ text }) => text).join(" ")})`;
}

async function misbehave(
  step: NodeBodyStep,
  mark: string,
  { fails, folder }: NodePlan,
  ctx: TaskContext,
): Promise<void> {
  if (fails?.step !== step || fails.mark !== mark) return;
  await misbehaveOnce({ act: fails.act, folder, name: MISBEHAVES }, ctx);
}

const usual = { queue: "steps", timeoutMs: TIMEOUT_MS, retry: whateverHappens } as const;

export const work = defineTask({ ...usual, name: "work", run: make });

/** The law of payments is about tasks that are called so. */
async function pay(tx: CallersTransaction, ctx: TaskContext): Promise<void> {
  await tx.query("insert into chaos.paid values ($1, $2)", [ctx.taskId, ctx.claimId]);
}

export const payInTransaction = defineTask({
  ...usual,
  name: "pay-in-transaction",
  run: async (input: NodeInput, ctx) => {
    const made = await make(input, ctx);
    return ctx.transaction(async (tx) => {
      await pay(tx, ctx);
      return made;
    });
  },
});

export const payAndComplete = defineTask({
  ...usual,
  name: "pay-and-complete",
  run: async (input: NodeInput, ctx) => {
    const made = await make(input, ctx);
    const client = new pg.Client(ownUrls.get(ctx.queue));
    client.on("error", () => undefined); // the statement that is under way rejects
    await client.connect();
    try {
      await client.query("begin");
      await pay(client, ctx);
      await ctx.complete(made, { tx: client });
      await client.query("commit");
    } finally {
      await client.end().catch(() => undefined); // it is gone, and its transaction with it
    }
    return made;
  },
});

/** By queue, the link of user code to the database. */
const ownUrls = new Map<string, string>();

export function nodeStepConfig(url: string, queues: readonly string[]): AppConfig {
  // Who is there to rescue the others does so on a link of its own.
  for (const queue of queues) if (!ownUrls.has(queue)) ownUrls.set(queue, url);
  return {
    ...stepConfig(url, [...queues, "steps"]),
    tasks: [work, payInTransaction, payAndComplete],
  };
}

const { STEP_QUEUE: ownQueue, DATABASE_URL: url } = process.env;

/** Of the worker process that is to be killed. */
export const app =
  ownQueue === undefined || url === undefined
    ? undefined
    : posthaste(nodeStepConfig(url, [ownQueue]));
