/**
 * What the nodes of workflows do in a chaos run. Each says its own label and what the nodes before it said, so that the
 * result of a whole run can be told from its input.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, fixed, TaskError, type TaskContext } from "posthaste";
import { begin, folder, RETRIES_MS } from "./bodies.ts";

/** The input of every run; every node gets it. */
export interface Dice {
  /** The run's own id. */
  readonly id: string;
  /** How long slow handlers last. */
  readonly ms: number;
  /** What is fanned out over. */
  readonly items: readonly number[];
  readonly isExpress: boolean;
  /** Marks of nodes that fail until somebody mends the run. */
  readonly failing: readonly string[];
  /** Marks of nodes whose first attempts fail. */
  readonly flaky: readonly string[];
}

export interface Said {
  readonly text: string;
}

export interface NodeInput {
  readonly label: string;
  readonly index?: number;
  readonly dice: Dice;
  readonly parts: readonly Said[];
}

export interface Made extends Said {
  /** The claim of the handler that made the text. */
  readonly claim: string;
}

export function textOf(mark: string, parts: readonly Said[]): string {
  return `${mark}(${parts.map(({ text }) => text).join(" ")})`;
}

/** When it is there, the nodes of the run do not fail any more. */
export function mendedFile(inFolder: string, runId: string): string {
  return join(inFolder, `mended-${runId}`);
}

const ATTEMPTS_OF_FLAKY = 3;

async function make({ label, index, dice, parts }: NodeInput, ctx: TaskContext): Promise<Made> {
  const said = begin(ctx);
  const mark = `${label}${index ?? ""}`;
  if (ctx.name.includes("slow")) await sleep(dice.ms, undefined, { signal: ctx.signal });
  if (dice.flaky.includes(mark) && ctx.attempt < ATTEMPTS_OF_FLAKY)
    throw new TaskError("NOT_YET", "not yet", said);
  if (dice.failing.includes(mark) && !existsSync(mendedFile(folder, dice.id)))
    throw new TaskError("PLANNED", "as planned", said);
  return { ...said, text: textOf(mark, parts) };
}

const usual = {
  errors: ["PLANNED", "NOT_YET"],
  retry: fixed({ intervalsMs: RETRIES_MS, retryFor: ["WORKER_CRASHED", "NOT_YET"] }),
} as const;

export const quickNode = defineTask({ ...usual, name: "node", queue: "default", run: make });

export const slowNode = defineTask({ ...usual, name: "slow-node", queue: "default", run: make });

/** In a queue with a cap. */
export const narrowNode = defineTask({ ...usual, name: "narrow-node", queue: "narrow", run: make });

/** In a queue that is paused now and then, and before most plain tasks. */
export const asideNode = defineTask({
  ...usual,
  name: "aside-node",
  queue: "aside",
  priority: 20,
  onCrash: "requeue",
  maxCrashes: 20,
  run: make,
});

/** Must not be repeated: what a crash leaves of it is an error. */
export const onceNode = defineTask({
  name: "once-slow-node",
  queue: "default",
  errors: ["PLANNED", "NOT_YET"],
  onCrash: "fail",
  run: make,
});

/** Ends in one commit with what it writes. */
export const payNode = defineTask({
  ...usual,
  name: "pay-node",
  queue: "default",
  run: async (input: NodeInput, ctx) => {
    const made = await make(input, ctx);
    return ctx.transaction(async (tx) => {
      await tx.query("insert into chaos.paid values ($1, $2)", [ctx.taskId, ctx.claimId]);
      return made;
    });
  },
});

/** Says how another node ended. */
export const witnessNode = defineTask({
  ...usual,
  name: "witness-node",
  queue: "default",
  run: (
    {
      label,
      of,
    }: { label: string; of: { readonly ok: boolean; readonly error?: { code: string } } },
    ctx,
  ) => ({ ...begin(ctx), text: `${label}(${of.ok ? "ok" : (of.error?.code ?? "none")})` }),
});

export const nodeTasks = [
  quickNode,
  slowNode,
  narrowNode,
  asideNode,
  onceNode,
  payNode,
  witnessNode,
];
