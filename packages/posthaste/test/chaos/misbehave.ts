/** Handlers that a test interrupts at every step. They write to a ledger outside the database, and fail once. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fixed, type AppConfig, type TaskContext } from "posthaste";
import { effectsFile, writeLine } from "../../../../chaos/ledger.ts";

export type Act = "kill" | "throw" | "hang" | "lost connection";
export const acts = ["kill", "throw", "hang", "lost connection"] as const satisfies Act[];

/** How long an attempt may take that hangs. */
export const TIMEOUT_MS = 30_000;

/** Is tried again, whatever happens. */
export const whateverHappens = fixed({
  intervalsMs: [50, 50, 50],
  retryFor: ["WORKER_CRASHED", "UNHANDLED_ERROR", "TASK_TIMEOUT"],
});

export function begin(folder: string, ctx: TaskContext): { claim: string } {
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

export interface Misbehaviour {
  readonly act: Act;
  readonly folder: string;
  /** Only the first with this name in a queue goes wrong. */
  readonly name: string;
}

export async function misbehaveOnce(
  { act, folder, name }: Misbehaviour,
  ctx: TaskContext,
): Promise<void> {
  if (!isFirst(reachedFile(folder, ctx.queue, name), ctx.taskId)) return;
  switch (act) {
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

function isFirst(file: string, taskId: string): boolean {
  try {
    writeFileSync(file, taskId, { flag: "wx" });
    return true;
  } catch {
    return false; // it is there: somebody was faster
  }
}

/** Everything is noticed within seconds, and statements are known on the wire by their text. */
export function stepConfig(url: string, queues: readonly string[]): AppConfig {
  return {
    queues: Object.fromEntries(queues.map((queue) => [queue, {}])),
    database: { url, preparedStatements: false },
    prefetchBuffer: 2,
    claimLeaseMs: 4_000,
    recovery: {
      runnerHeartbeatIntervalMs: 1_000,
      claimerHeartbeatIntervalMs: 1_000,
      claimedStaleThresholdMs: 4_000,
      // On a busy machine it takes many seconds until a heartbeat gets through behind a link that hangs.
      runningStaleThresholdMs: 30_000,
      checkIntervalMs: 1_000,
      crashGraceMs: 1_000,
    },
    resilience: { dbRetryInitialMs: 100, dbRetryMaxMs: 500, notifyPollIntervalMs: 1_000 },
  };
}
