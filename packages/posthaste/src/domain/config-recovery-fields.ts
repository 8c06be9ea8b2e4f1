/** The fields of `recovery` and `resilience`. */
import type { Field } from "./field.ts";

type Fields = Readonly<Record<string, Field>>;

const heartbeatInterval = {
  kind: "whole number",
  default: 30_000,
  min: 1_000,
  max: 120_000,
} as const;

export const recoveryFields = {
  autoRequeueStaleClaimed: {
    kind: "flag",
    default: true,
    meaning: "Give tasks back that were claimed and not started by a worker that fell silent",
    seedName: "auto_requeue_stale_claimed",
  },
  claimedStaleThresholdMs: {
    kind: "whole number",
    default: 120_000,
    min: 1_000,
    max: 3_600_000,
    meaning: "After how long without a heartbeat a claimed task is stale",
    seedName: "claimed_stale_threshold_ms",
  },
  autoFailStaleRunning: {
    kind: "flag",
    default: true,
    meaning: "End, or retry by their policy, tasks that run on a worker that fell silent",
    seedName: "auto_fail_stale_running",
  },
  runningStaleThresholdMs: {
    kind: "whole number",
    default: 300_000,
    min: 1_000,
    max: 7_200_000,
    meaning: "After how long without a heartbeat a running task is stale",
    seedName: "running_stale_threshold_ms",
  },
  checkIntervalMs: {
    kind: "whole number",
    default: 30_000,
    min: 1_000,
    max: 600_000,
    meaning: "How often the maintenance pass looks for what is stale or has expired",
    seedName: "check_interval_ms",
  },
  runnerHeartbeatIntervalMs: {
    ...heartbeatInterval,
    meaning: "How often a worker vouches for the tasks it runs",
    seedName: "runner_heartbeat_interval_ms",
  },
  claimerHeartbeatIntervalMs: {
    ...heartbeatInterval,
    meaning: "How often a worker vouches for the tasks it has claimed and not started",
    seedName: "claimer_heartbeat_interval_ms",
  },
  heartbeatRetentionHours: {
    kind: "whole number",
    default: 24,
    min: 1,
    max: 8_760,
    orNull: true,
    meaning: "How long heartbeats are kept; null: for ever. Checked; nothing is deleted yet",
    seedName: "heartbeat_retention_hours",
  },
  workerStateRetentionHours: {
    kind: "whole number",
    default: 168,
    min: 1,
    max: 8_760,
    orNull: true,
    meaning:
      "How long the states of workers are kept; null: for ever. Checked; nothing is deleted yet",
    seedName: "worker_state_retention_hours",
  },
  terminalRecordRetentionHours: {
    kind: "whole number",
    default: 720,
    min: 1,
    max: 43_800,
    orNull: true,
    meaning:
      "How long tasks that have ended are kept; null: for ever. Checked; nothing is deleted yet",
    seedName: "terminal_record_retention_hours",
  },
  crashGraceMs: {
    kind: "whole number",
    default: 5_000,
    min: 1_000,
    max: 600_000,
    meaning:
      "How long a worker's session may be missing before the worker counts as crashed. Checked; nothing acts on it yet",
  },
} as const satisfies Fields;

export const resilienceFields = {
  dbRetryInitialMs: {
    kind: "whole number",
    default: 500,
    min: 100,
    max: 60_000,
    meaning:
      "The first pause of a worker whose database is away; it doubles with every further one",
    seedName: "db_retry_initial_ms",
  },
  dbRetryMaxMs: {
    kind: "whole number",
    default: 30_000,
    min: 500,
    max: 300_000,
    meaning: "The longest such pause",
    seedName: "db_retry_max_ms",
  },
  dbRetryMaxAttempts: {
    kind: "whole number",
    default: 0,
    min: 0,
    max: 10_000,
    meaning: "After how many pauses a worker gives up; 0: never",
    seedName: "db_retry_max_attempts",
  },
  notifyPollIntervalMs: {
    kind: "whole number",
    default: 5_000,
    min: 1_000,
    max: 300_000,
    meaning: "How often workers and waits look by themselves, when no notification comes",
    seedName: "notify_poll_interval_ms",
  },
} as const satisfies Fields;
