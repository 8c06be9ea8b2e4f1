/**
 * Every field, default, range and rule of the specification, written down here once more by hand, against the table that
 * the config is read by, and each bound tried on the reader itself.
 */
import { describe, expect, test } from "vitest";
import { configTable, type DescribedField } from "../../src/config/app-fields.ts";
import { INFRASTRUCTURE_RESILIENT_FLAG } from "../../src/index.ts";
import { configRules } from "../../src/config/rules.ts";
import { readConfig } from "../../src/config/config.ts";
import { valueAt } from "../../src/config/field.ts";
import { readWorkerOptions } from "../../src/config/worker-options.ts";
import { workerFields } from "../../src/config/worker-options-fields.ts";

interface SeedField {
  readonly name: string;
  readonly default: number | boolean;
  readonly range?: readonly [min: number, max: number];
  /** None disables what the field governs. */
  readonly isOptional?: true;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const recovery: readonly SeedField[] = [
  { name: "auto_requeue_stale_claimed", default: true },
  { name: "claimed_stale_threshold_ms", default: 120_000, range: [SECOND, HOUR] },
  { name: "auto_fail_stale_running", default: true },
  { name: "running_stale_threshold_ms", default: 300_000, range: [SECOND, 2 * HOUR] },
  { name: "check_interval_ms", default: 30_000, range: [SECOND, 10 * MINUTE] },
  { name: "runner_heartbeat_interval_ms", default: 30_000, range: [SECOND, 2 * MINUTE] },
  { name: "claimer_heartbeat_interval_ms", default: 30_000, range: [SECOND, 2 * MINUTE] },
  { name: "heartbeat_retention_hours", default: 24, range: [1, 8_760], isOptional: true },
  { name: "worker_state_retention_hours", default: 168, range: [1, 8_760], isOptional: true },
  { name: "terminal_record_retention_hours", default: 720, range: [1, 43_800], isOptional: true },
];

const resilience: readonly SeedField[] = [
  { name: "db_retry_initial_ms", default: 500, range: [100, 60_000] },
  { name: "db_retry_max_ms", default: 30_000, range: [500, 300_000] },
  { name: "db_retry_max_attempts", default: 0, range: [0, 10_000] },
  { name: "notify_poll_interval_ms", default: 5_000, range: [1_000, 300_000] },
];

/** Durations are milliseconds, as everywhere, and a job is a task. */
const workerRecovery: readonly (SeedField & { readonly ours: string })[] = [
  { name: "enabled", ours: "enabled", default: false },
  {
    name: "heartbeat_interval",
    ours: "heartbeatIntervalMs",
    default: 30 * SECOND,
    range: [100, HOUR],
  },
  { name: "sweep_interval", ours: "sweepIntervalMs", default: MINUTE, range: [100, HOUR] },
  {
    name: "sweep_threshold",
    ours: "sweepThresholdMs",
    default: 5 * MINUTE,
    range: [100, 24 * HOUR],
  },
  { name: "recovery_delay", ours: "recoveryDelayMs", default: 30 * SECOND, range: [0, 24 * HOUR] },
  {
    name: "resilient_sweep_threshold_multiplier",
    ours: "resilientSweepThresholdMultiplier",
    default: 3,
    range: [1, 1_000],
  },
];

const worker = [
  "queues",
  "concurrency",
  "max_claim_batch",
  "max_claim_per_worker",
  "queue_priorities",
  "queue_max_concurrency",
  "coalesce_notifies",
  "loglevel",
  "heartbeat_interval",
  "sweep_interval",
  "sweep_threshold",
  "recovery_delay",
];

/** A stale threshold is at least twice its heartbeat; the lease, and the longest pause, are rules of ours. */
const rules = [
  ["claimLeaseMs", "at least twice recovery.claimerHeartbeatIntervalMs"],
  ["recovery.claimedStaleThresholdMs", "at least twice recovery.claimerHeartbeatIntervalMs"],
  ["recovery.runningStaleThresholdMs", "at least twice recovery.runnerHeartbeatIntervalMs"],
  ["workerRecovery.sweepThresholdMs", "at least twice workerRecovery.heartbeatIntervalMs"],
  ["resilience.dbRetryMaxMs", "at least resilience.dbRetryInitialMs"],
  ["clusterWideCap", "not together with prefetchBuffer above 0"],
  ["startAhead", "only together with prefetchBuffer above 0"],
];

const groups: Readonly<Record<string, readonly (SeedField & { readonly ours?: string })[]>> = {
  recovery,
  workerRecovery,
  resilience,
};
const cases = Object.entries(groups).flatMap(([group, fields]) =>
  fields.map((field) => ({ ...field, path: `${group}.${field.ours ?? camelCase(field.name)}` })),
);

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function described(path: string): DescribedField["field"] {
  const found = configTable.find((row) => row.path === path);
  if (found === undefined) throw new Error(`the table has no field ${path}`);
  return found.field;
}

/** So long and so short that no rule across fields is in the way of a field's own bounds. */
const roomy = {
  claimLeaseMs: HOUR,
  recovery: {
    claimedStaleThresholdMs: HOUR,
    runningStaleThresholdMs: 2 * HOUR,
    runnerHeartbeatIntervalMs: SECOND,
    claimerHeartbeatIntervalMs: SECOND,
  },
  workerRecovery: { heartbeatIntervalMs: 100, sweepThresholdMs: 24 * HOUR },
  resilience: { dbRetryInitialMs: 100, dbRetryMaxMs: 300_000 },
};

function problemsWith(path: string, value: unknown): readonly { path: string; message: string }[] {
  const [group = "", name = ""] = path.split(".");
  const inGroup = { ...Reflect.get(roomy, group), [name]: value };
  return readConfig({ ...roomy, [group]: inGroup }, {}).problems;
}

describe("a field of the specification", () => {
  test.each(cases)("$name is there, with its default", ({ name, path, default: otherwise }) => {
    expect(described(path)).toMatchObject({ seedName: name, default: otherwise });
    expect(valueAt(readConfig({}, {}).config, path.split("."))).toBe(otherwise);
  });

  test.each(cases.filter(({ range }) => range === undefined))("$name is on or off", ({ path }) => {
    expect(problemsWith(path, false)).toEqual([]);
    expect(problemsWith(path, true)).toEqual([]);
    expect(problemsWith(path, 1)).toHaveLength(1);
  });

  const ranged = cases.flatMap(({ range, ...field }) =>
    range === undefined ? [] : [{ ...field, min: range[0], max: range[1] }],
  );

  test.each(ranged)("$name goes from $min to $max", ({ path, min, max }) => {
    expect(described(path)).toMatchObject({ kind: "whole number", min, max });
    const refused = expect.stringContaining(`expected a whole number from ${min} to ${max}`);
    // The least threshold is less than twice the least heartbeat: only that rule may be in its way.
    const isThreshold = path.endsWith("ThresholdMs");
    expect(problemsWith(path, min)).toEqual(
      isThreshold ? [{ path, message: expect.stringContaining("expected at least twice") }] : [],
    );
    expect(problemsWith(path, max)).toEqual([]);
    for (const wrong of [min - 1, max + 1, min + 0.5, String(min)]) {
      expect(problemsWith(path, wrong)).toEqual([{ path, message: refused }]);
    }
  });

  test.each(ranged)("$name may be none: $isOptional", ({ path, isOptional = false }) => {
    expect(problemsWith(path, null)).toHaveLength(isOptional ? 0 : 1);
  });

  test("resilient_job_flags is there, with its default", () => {
    expect(readConfig({}, {}).config.workerRecovery.resilientTaskFlags).toEqual([
      "infrastructure_resilient",
    ]);
    expect(INFRASTRUCTURE_RESILIENT_FLAG).toBe("infrastructure_resilient");
    expect(described("workerRecovery.resilientTaskFlags")).toMatchObject({
      seedName: "resilient_job_flags",
    });
  });

  test("is not invented: whatever claims to come from there does", () => {
    const names = configTable.flatMap(({ field }) => field.seedName ?? []);
    const known = [...cases.map(({ name }) => name), "resilient_job_flags", "cluster_wide_cap"];
    expect(names.toSorted()).toEqual(known.toSorted());
  });
});

describe("the options of a worker", () => {
  test("are all there", () => {
    const names = Object.values(workerFields).flatMap((field) =>
      "seedName" in field ? field.seedName : [],
    );
    expect(names.toSorted()).toEqual(worker.toSorted());
  });

  test.each([
    ["queues", ["a"], []],
    ["concurrency", 8, 0],
    ["maxClaimBatch", 0, -1],
    ["maxClaimPerWorker", 0, -1],
    ["queuePriorities", { default: 1 }, { default: 101 }],
    ["queueMaxConcurrency", { default: 1 }, { default: 0 }],
    ["coalesceNotifies", 1, 0],
    ["logLevel", "debug", "trace"],
    ["heartbeatIntervalMs", 100, 99],
    ["sweepIntervalMs", 3_600_000, 3_600_001],
    ["sweepThresholdMs", 60_000, 59_999],
    ["recoveryDelayMs", 0, -1],
  ])("%s takes %j and refuses %j", (name, good, bad) => {
    const { config } = readConfig({}, {});
    expect(readWorkerOptions({ [name]: good }, config, 2).problems).toEqual([]);
    expect(readWorkerOptions({ [name]: bad }, config, 2).problems).toHaveLength(1);
  });
});

describe("a rule across fields", () => {
  test("is one of these", () => {
    expect(configRules.map(({ path, words }) => [path, words])).toEqual(rules);
  });

  test.each([
    ["claimLeaseMs", { claimLeaseMs: 59_999 }, { claimLeaseMs: 60_000 }],
    [
      "recovery.claimedStaleThresholdMs",
      { recovery: { claimedStaleThresholdMs: 59_999 } },
      { recovery: { claimedStaleThresholdMs: 60_000 } },
    ],
    [
      "recovery.runningStaleThresholdMs",
      { recovery: { runningStaleThresholdMs: 59_999 } },
      { recovery: { runningStaleThresholdMs: 60_000 } },
    ],
    [
      "recovery.runningStaleThresholdMs",
      { recovery: { runnerHeartbeatIntervalMs: 30_000, runningStaleThresholdMs: 30_000 } },
      { recovery: { runnerHeartbeatIntervalMs: 10_000, runningStaleThresholdMs: 30_000 } },
    ],
    [
      "workerRecovery.sweepThresholdMs",
      { workerRecovery: { sweepThresholdMs: 59_999 } },
      { workerRecovery: { sweepThresholdMs: 60_000 } },
    ],
    [
      "resilience.dbRetryMaxMs",
      { resilience: { dbRetryMaxMs: 999, dbRetryInitialMs: 1_000 } },
      { resilience: { dbRetryMaxMs: 1_000, dbRetryInitialMs: 1_000 } },
    ],
    [
      "clusterWideCap",
      { clusterWideCap: 1, prefetchBuffer: 1 },
      { clusterWideCap: 1, prefetchBuffer: 0 },
    ],
    ["startAhead", { startAhead: true }, { startAhead: true, prefetchBuffer: 1 }],
  ])("of %s refuses %j and allows %j", (path, broken, kept) => {
    expect(readConfig(broken, {}).problems.map((problem) => problem.path)).toEqual([path]);
    expect(readConfig(kept, {}).problems).toEqual([]);
  });
});
