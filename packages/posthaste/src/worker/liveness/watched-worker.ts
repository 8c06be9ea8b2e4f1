/** What the liveness thread is told of a worker. */
import { hostname } from "node:os";
import { effectiveConfig } from "../../domain/config-settings.ts";
import type { Config, DatabaseConfig } from "../../domain/config.ts";
import type { WorkerPlan } from "../../domain/worker-options.ts";
import type { WatchedWorker } from "./messages.ts";

const LONGEST_BEAT_MS = 2_000;

export function watchedWorker(
  workerId: string,
  { sessionUrl, preparedStatements }: DatabaseConfig,
  config: Config,
  plan: WorkerPlan,
): WatchedWorker {
  const { recovery, schema, claimLeaseMs } = config;
  const { runnerHeartbeatIntervalMs, claimerHeartbeatIntervalMs } = recovery;
  const { crashGraceMs, runningStaleThresholdMs, autoFailStaleRunning } = recovery;
  const { resilientTaskFlags, resilientSweepThresholdMultiplier } = plan.workerRecovery;
  return {
    workerId,
    url: sessionUrl,
    preparedStatements,
    schema,
    hostname: hostname(),
    pid: process.pid,
    beatMs: beatMs(config, plan),
    runnerHeartbeatIntervalMs,
    claimerHeartbeatIntervalMs,
    claimLeaseMs,
    crashGraceMs,
    runningStaleThresholdMs,
    resilientFlags: resilientTaskFlags,
    resilientMultiplier: resilientSweepThresholdMultiplier,
    // Where stale tasks are left to their worker, so is its process.
    onBlocked: autoFailStaleRunning ? plan.onBlocked : "report",
    config: JSON.stringify(effectiveConfig(config, plan)),
  };
}

/**
 * Twice within a grace: a worker that reconnects is heard of before its grace is over. Often enough to say, when its tasks
 * are taken from it, that its event loop is blocked. And more often than sweepers were told to expect, so that none of them
 * judges others while it cannot be heard itself.
 */
export function beatMs(
  { recovery }: Pick<Config, "recovery">,
  { workerRecovery }: Pick<WorkerPlan, "workerRecovery">,
): number {
  const { crashGraceMs, runningStaleThresholdMs } = recovery;
  const { enabled, heartbeatIntervalMs, sweepThresholdMs } = workerRecovery;
  return Math.min(
    LONGEST_BEAT_MS,
    crashGraceMs / 2.5,
    runningStaleThresholdMs / 4,
    enabled ? Math.min(heartbeatIntervalMs, sweepThresholdMs / 4) : Infinity,
  );
}
