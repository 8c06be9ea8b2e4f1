/** The app of the workers that are interrupted at every step. Bodies write into a ledger outside the database. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, fixed, posthaste, type AppConfig, type TaskContext } from "posthaste";
import { effectsFile, writeLine } from "../../../../chaos/ledger.ts";

export type BodyStep = "body begun" | "effect done";
export type Act = "kill" | "throw" | "hang" | "lost connection";

export interface StepInput {
  readonly folder: string;
  /** How long the body takes. */
  readonly ms: number;
  /** Where the first attempt goes wrong by itself, and how; null: it does not. */
  readonly fails: { readonly step: BodyStep; readonly act: Act } | null;
}

/** How long an attempt may take that hangs. */
const TIMEOUT_MS = 6_000;

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
  retry: fixed({
    intervalsMs: [50, 50, 50],
    retryFor: ["WORKER_CRASHED", "UNHANDLED_ERROR", "TASK_TIMEOUT"],
  }),
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

function begin(folder: string, ctx: TaskContext): { claim: string } {
  const { taskId: task, claimId: claim, workerId: worker, attempt: run, name } = ctx;
  const at = new Date().toISOString();
  writeLine(effectsFile(folder, process.pid), { task, claim, worker, run, name, at });
  return { claim };
}

export function goFile(folder: string, queue: string): string {
  return join(folder, `go-${queue}`);
}

/** Holds the id of the task that went wrong. */
export function reachedFile(folder: string, queue: string, name: string): string {
  return join(folder, `reached-${queue}-${name}`);
}

/** The first task of each name in a queue; where the process is killed, the first of all. */
function isFirst(act: Act, folder: string, { queue, name, taskId }: TaskContext): boolean {
  const file = reachedFile(folder, queue, act === "kill" ? repeated.name : name);
  try {
    writeFileSync(file, taskId, { flag: "wx" });
    return true;
  } catch {
    return false; // it is there: somebody was faster
  }
}

async function misbehave(
  step: BodyStep,
  { fails, folder }: StepInput,
  ctx: TaskContext,
): Promise<void> {
  if (fails?.step !== step || !isFirst(fails.act, folder, ctx)) return;
  switch (fails.act) {
    case "kill":
      process.kill(process.pid, "SIGKILL");
      return;
    case "throw":
      throw new Error("as planned");
    case "hang":
      await new Promise((_, reject) => ctx.signal.addEventListener("abort", reject));
      return;
    case "lost connection":
      // The test cuts every link meanwhile.
      while (!existsSync(goFile(folder, ctx.queue))) await sleep(20);
  }
}

/** Everything is noticed within seconds, and statements are known on the wire by their text. */
export function stepConfig(url: string, queues: readonly string[]): AppConfig {
  return {
    tasks: [repeated, once, stepChild],
    queues: Object.fromEntries([...queues, "steps", "children"].map((queue) => [queue, {}])),
    database: { url, preparedStatements: false },
    prefetchBuffer: 2,
    claimLeaseMs: 4_000,
    recovery: {
      runnerHeartbeatIntervalMs: 1_000,
      claimerHeartbeatIntervalMs: 1_000,
      claimedStaleThresholdMs: 4_000,
      runningStaleThresholdMs: 8_000,
      checkIntervalMs: 1_000,
      crashGraceMs: 1_000,
    },
    resilience: { dbRetryInitialMs: 100, dbRetryMaxMs: 500, notifyPollIntervalMs: 1_000 },
  };
}

const { STEP_QUEUE: ownQueue, DATABASE_URL: url } = process.env;

/** Of the worker process that is to be killed. */
export const app =
  ownQueue === undefined || url === undefined ? undefined : posthaste(stepConfig(url, [ownQueue]));
