/** The app of the workers whose tasks are interrupted at every step. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, posthaste, type AppConfig, type TaskContext } from "posthaste";
import {
  begin,
  misbehaveOnce,
  stepConfig,
  TIMEOUT_MS,
  whateverHappens,
  type Act,
} from "./misbehave.ts";

export type BodyStep = "body begun" | "effect done";

export interface StepInput {
  readonly folder: string;
  /** How long the handler takes. */
  readonly ms: number;
  /** Where the first attempt goes wrong by itself, and how; null: it does not. */
  readonly fails: { readonly step: BodyStep; readonly act: Act } | null;
}

export const stepChild = defineTask({
  name: "step-child",
  queue: "children",
  run: (input: { parent: string; claim: string; folder: string }, ctx) => begin(input.folder, ctx),
});

async function take(input: StepInput, ctx: TaskContext): Promise<{ claim: string }> {
  const said = begin(input.folder, ctx);
  await misbehave("body begun", input, ctx);
  ctx.progress(said);
  await ctx.send(stepChild, { parent: ctx.taskId, claim: ctx.claimId, folder: input.folder });
  await sleep(input.ms);
  await misbehave("effect done", input, ctx);
  return said;
}

/** Is tried again, whatever happens. */
export const repeated = defineTask({
  name: "repeated",
  queue: "steps",
  timeoutMs: TIMEOUT_MS,
  retry: whateverHappens,
  run: take,
});

/** Is never tried again. */
export const once = defineTask({
  name: "once",
  queue: "steps",
  timeoutMs: TIMEOUT_MS,
  onCrash: "fail",
  run: take,
});

/** The first task of each name in a queue; where the process is killed, the first of all. */
async function misbehave(
  step: BodyStep,
  { fails, folder }: StepInput,
  ctx: TaskContext,
): Promise<void> {
  if (fails?.step !== step) return;
  const name = fails.act === "kill" ? repeated.name : ctx.name;
  await misbehaveOnce({ act: fails.act, folder, name }, ctx);
}

export function plainStepConfig(url: string, queues: readonly string[]): AppConfig {
  return {
    ...stepConfig(url, [...queues, "steps", "children"]),
    tasks: [repeated, once, stepChild],
  };
}

const { STEP_QUEUE: ownQueue, DATABASE_URL: url } = process.env;

/** Of the worker process that is to be killed. */
export const app =
  ownQueue === undefined || url === undefined
    ? undefined
    : posthaste(plainStepConfig(url, [ownQueue]));
