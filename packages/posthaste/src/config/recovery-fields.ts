/** The fields of `recovery`, `workerRecovery` and `resilience`. */
import type { Field } from "./field.ts";

/** The flag of a task that shall be left to its worker for longer, when that falls silent. */
export const INFRASTRUCTURE_RESILIENT_FLAG = "infrastructure_resilient";

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
    meaning: "Whether tasks that a silent worker has claimed and not started return to the queue",
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
    meaning: "Whether tasks that run on a silent worker are failed, or retried by their policy",
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
    meaning: "How often maintenance looks for stale and expired tasks",
    seedName: "check_interval_ms",
  },
  runnerHeartbeatIntervalMs: {
    ...heartbeatInterval,
    meaning: "How often a worker sends heartbeats for running tasks",
    seedName: "runner_heartbeat_interval_ms",
  },
  claimerHeartbeatIntervalMs: {
    ...heartbeatInterval,
    meaning: "How often a worker sends heartbeats for claimed tasks that have not started",
    seedName: "claimer_heartbeat_interval_ms",
  },
  heartbeatRetentionHours: {
    kind: "whole number",
    default: 24,
    min: 1,
    max: 8_760,
    orNull: true,
    meaning: "How long heartbeats are kept; null: forever",
    seedName: "heartbeat_retention_hours",
  },
  workerStateRetentionHours: {
    kind: "whole number",
    default: 168,
    min: 1,
    max: 8_760,
    orNull: true,
    meaning:
      "How long the states of workers, workers that are gone and recoveries are kept; null: forever",
    seedName: "worker_state_retention_hours",
  },
  terminalRecordRetentionHours: {
    kind: "whole number",
    default: 720,
    min: 1,
    max: 43_800,
    orNull: true,
    meaning:
      "How long tasks that have ended are kept, with their attempts and progress; null: forever",
    seedName: "terminal_record_retention_hours",
  },
  failedRecordRetentionHours: {
    kind: "whole number",
    default: undefined,
    defaultInWords: "terminalRecordRetentionHours",
    min: 1,
    max: 43_800,
    orNull: true,
    meaning:
      "How long FAILED, CANCELLED and EXPIRED tasks are kept, with their attempts and progress; null: forever",
  },
  rollupRetentionHours: {
    kind: "whole number",
    default: 744,
    min: 1,
    max: 43_800,
    orNull: true,
    meaning: "How long the counts and histograms of ended tasks are kept; null: forever",
  },
  crashGraceMs: {
    kind: "whole number",
    default: 5_000,
    min: 1_000,
    max: 600_000,
    meaning: "How long a worker's session may be missing before the worker counts as crashed",
  },
} as const satisfies Fields;

const workerInterval = { kind: "whole number", min: 100, max: 3_600_000 } as const;

export const workerRecoveryFields = {
  enabled: {
    kind: "flag",
    default: false,
    defaultInWords: "false; true when another field of the group is given",
    meaning:
      "Whether silent workers are swept, and their tasks return to the queue without spending a retry",
    seedName: "enabled",
  },
  heartbeatIntervalMs: {
    ...workerInterval,
    default: 30_000,
    meaning: "How often, at least, a worker refreshes its row in `workers`",
    seedName: "heartbeat_interval",
  },
  sweepIntervalMs: {
    ...workerInterval,
    default: 60_000,
    meaning: "How often workers look for silent workers",
    seedName: "sweep_interval",
  },
  sweepThresholdMs: {
    ...workerInterval,
    max: 86_400_000,
    default: 300_000,
    meaning: "After how long without a heartbeat a worker is swept",
    seedName: "sweep_threshold",
  },
  recoveryDelayMs: {
    kind: "whole number",
    default: 30_000,
    min: 0,
    max: 86_400_000,
    meaning: "How long a task waits in the queue after a sweep returned it",
    seedName: "recovery_delay",
  },
  resilientSweepThresholdMultiplier: {
    kind: "whole number",
    default: 3,
    min: 1,
    max: 1_000,
    meaning: "How many times longer a resilient task is left to its worker",
    seedName: "resilient_sweep_threshold_multiplier",
  },
  resilientTaskFlags: {
    kind: "names",
    default: [INFRASTRUCTURE_RESILIENT_FLAG],
    meaning: "A task is resilient when one of these flags is set on it, and true",
    seedName: "resilient_job_flags",
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
