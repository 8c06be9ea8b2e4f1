import type { Config } from "../domain/config.ts";
import type { WorkerPlan } from "../domain/worker-options.ts";

/** What a worker holds: bodies that run or are about to, and tasks that wait for a slot. */
export interface Held {
  readonly running: number;
  readonly ahead: number;
}

/**
 * How much a worker may claim now: to run at once, and to hold for later. It never runs more than `concurrency`, never
 * holds more than that and `prefetchBuffer` together, and never has more than `maxClaimPerWorker` that are claimed and
 * not running.
 */
export function claimBudget(
  { concurrency, maxClaimPerWorker }: Pick<WorkerPlan, "concurrency" | "maxClaimPerWorker">,
  { prefetchBuffer }: Pick<Config, "prefetchBuffer">,
  { running, ahead }: Held,
): { readonly now: number; readonly ahead: number } {
  const mayClaim = Math.max(0, maxClaimPerWorker - ahead);
  const local = Math.max(0, concurrency + prefetchBuffer - running - ahead);
  const total = Math.min(mayClaim, local);
  const now = Math.min(total, Math.max(0, concurrency - running));
  return { now, ahead: total - now };
}
