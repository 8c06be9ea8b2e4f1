/** The facts about a worker that the liveness thread gets. */
import { hostname } from "node:os";
import type { Config, DatabaseConfig } from "../../config/config.ts";
import { effectiveConfig } from "../../config/settings.ts";
import type { WorkerSettings } from "../../config/worker-options.ts";
import type { WatchedWorker } from "./messages.ts";

const LONGEST_BEAT_MS = 2_000;

export function watchedWorker(
  workerId: string,
  { sessionUrl, preparedStatements }: DatabaseConfig,
  config: Config,
  settings: WorkerSettings,
): WatchedWorker {
  const { recovery, schema, claimLeaseMs } = config;
  const { runnerHeartbeatIntervalMs, claimerHeartbeatIntervalMs } = recovery;
  const { crashGraceMs, runningStaleThresholdMs, autoFailStaleRunning } = recovery;
  const { resilientTaskFlags, resilientSweepThresholdMultiplier } = settings.workerRecovery;
  return {
    workerId,
    url: sessionUrl,
    preparedStatements,
    schema,
    hostname: hostname(),
    pid: process.pid,
    beatMs: beatMs(config, settings),
    runnerHeartbeatIntervalMs,
    claimerHeartbeatIntervalMs,
    claimLeaseMs,
    crashGraceMs,
    runningStaleThresholdMs,
    resilientFlags: resilientTaskFlags,
    resilientMultiplier: resilientSweepThresholdMultiplier,
    // If stale tasks stay with their worker, its process is not ended either.
    onBlocked: autoFailStaleRunning ? settings.onBlocked : "report",
    config: JSON.stringify(effectiveConfig(config, settings)),
  };
}

/**
 * Twice within a grace, so that a worker that reconnects writes one before its grace is over. Often enough to store a blocked event loop
 * before its tasks are recovered. And more often than sweepers expect, so that no sweeper judges workers while its own heartbeats fail.
 */
export function beatMs(
  { recovery }: Pick<Config, "recovery">,
  { workerRecovery }: Pick<WorkerSettings, "workerRecovery">,
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
