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
  const { crashGraceMs, runningStaleThresholdMs } = recovery;
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
    config: JSON.stringify(effectiveConfig(config, plan)),
  };
}

/**
 * Twice within a grace: a worker that reconnects is heard of before its grace is over. Often enough to say, when its tasks
 * are taken from it, that its event loop is blocked. And as often as sweepers were told to expect.
 */
export function beatMs(
  { recovery }: Pick<Config, "recovery">,
  { workerRecovery }: Pick<WorkerPlan, "workerRecovery">,
): number {
  const { crashGraceMs, runningStaleThresholdMs } = recovery;
  const { enabled, heartbeatIntervalMs } = workerRecovery;
  return Math.min(
    LONGEST_BEAT_MS,
    crashGraceMs / 2.5,
    runningStaleThresholdMs / 4,
    enabled ? heartbeatIntervalMs : Infinity,
  );
}
