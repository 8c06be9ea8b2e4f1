/**
 * One round of maintenance: passes in a fixed order, each bounded.
 *
 *  1. crashed workers: recovers their tasks by the rule of domain/crash-policy.ts
 *  2. stale claims: releases CLAIMED tasks without heartbeats or with an expired lease
 *  3. stale attempts: recovers RUNNING tasks without heartbeats, by the same rule
 *  4. expired tasks: ends PENDING tasks past their goodUntil
 *  5. unknown tasks: fails PENDING tasks whose name no worker ever listed
 *  6. workflow reconciliation: repairs stuck runs
 *  7. rollups: merges counts of ended tasks
 *  8. retention
 *
 * A recovered task may expire in the same round, and ended tasks are pruned last. Passes over tasks are left out while there is none: an
 * idle worker asks for little.
 */
import type { RecoveryConfig, WorkerRecoveryConfig } from "../config/config.ts";
import type { Database } from "../database/database.ts";
import { isRepeatable } from "../database/repeat-safely.ts";
import type { Logger } from "../domain/logger.ts";
import { emitTaskEvents, type DescribedTask } from "../hooks/emit-task-events.ts";
import type { HookRunner } from "../hooks/hook-runner.ts";
import type { OpenTasks } from "../store/queries/worker/ask-server.ts";
import { expireTasks } from "./expire-tasks.ts";
import { recoverTasks } from "./recover-tasks.ts";

import type { RecoveredTask, Recoverer } from "./recovered-tasks.ts";

export interface ReaperOptions {
  readonly database: Database;
  readonly recovery: RecoveryConfig;
  readonly workerRecovery: WorkerRecoveryConfig;
  /** The worker beside it. */
  readonly workerId: string;
  readonly hooks: HookRunner;
  readonly log: Logger;
  readonly definitions?: Recoverer["definitions"];
  /** One worker at a time does the rounds. Every statement is right with any number of them. Default: this one does. */
  readonly isLeader?: () => boolean;
  /** Whether the worker may judge silence of this length: only while its own heartbeats are written. Default: always. */
  readonly mayJudge?: (thresholdMs: number) => boolean;
  /** Aborts when the worker stops: other workers do the rest. */
  readonly signal?: AbortSignal;
  /** Ends tasks whose name no worker ever listed. Returns how many. */
  readonly endUnknown?: (signal?: AbortSignal) => Promise<number>;
  /** Repairs runs that are stuck. Returns how many. */
  readonly reconcile?: (signal?: AbortSignal) => Promise<number>;
  /** Deletes records past their retention. */
  readonly prune?: () => Promise<void>;
}

/** How many tasks of which kind. */
export interface Reaped {
  readonly crashed: number;
  readonly released: number;
  readonly recovered: number;
  readonly expired: number;
  readonly unknown: number;
}

export interface RoundRules {
  /** False: heartbeats could not be written for a while, so silence means nothing. */
  readonly judgesSilence: boolean;
}

const EXPIRE_BATCH = 1_000;
/** Rows of rollups: 100 workers with 50 task names each write fewer between two rounds. */
const MERGE_BATCH = 10_000;
/** Batches of one round; the next round does the rest. */
const MOST_BATCHES = 100;
/** Tasks that a line names by id. */
const MOST_NAMED = 10;

type Pass = (options: ReaperOptions, rules: RoundRules) => Promise<number>;

interface NamedPass {
  readonly name: string;
  readonly run: Pass;
  readonly counts?: keyof Reaped;
  /** The tasks that it is about. Absent: it runs in every round. */
  readonly of?: (open: OpenTasks) => boolean;
}

const active = (open: OpenTasks): boolean => open.active;
/** A pass before may have put an active task back into its queue. */
const waiting = (open: OpenTasks): boolean => open.waiting || open.active;

const passes: readonly NamedPass[] = [
  { name: "crashed workers", run: recoverCrashed, counts: "crashed", of: active },
  { name: "stale claims", run: releaseStale, counts: "released", of: active },
  { name: "stale runs", run: recoverStale, counts: "recovered", of: active },
  { name: "expired tasks", run: expire, counts: "expired", of: waiting },
  { name: "unknown tasks", run: endUnknown, counts: "unknown", of: waiting },
  { name: "workflow reconciliation", run: reconcileWorkflows },
  { name: "rollups", run: mergeRollups },
  { name: "retention", run: prune },
];

/** A pass that fails does not keep the others from running, unless the database is away. */
export async function runPasses(
  options: ReaperOptions,
  rules: RoundRules = { judgesSilence: true },
): Promise<Reaped> {
  const reaped = { crashed: 0, released: 0, recovered: 0, expired: 0, unknown: 0 };
  const { store, reads } = options.database;
  const open = await store.findOpenTasks(reads);
  for (const { name, counts, run, of = () => true } of passes) {
    if (options.signal?.aborted === true) break;
    if (!of(open)) continue;
    try {
      const count = await run(options, rules);
      if (counts !== undefined) reaped[counts] += count;
    } catch (error) {
      if (isRepeatable(error)) throw error;
      options.log.warn(
        { pass: name, error: String(error) },
        "maintenance pass failed; the next round retries",
      );
    }
  }
  return reaped;
}

export async function recoverCrashed(options: ReaperOptions): Promise<number> {
  const { recovery, workerRecovery } = options;
  const crashed = await recoverTasks(recovererOf(options), {
    cause: "worker crashed",
    thresholdMs: recovery.crashGraceMs,
    multiplier: workerRecovery.resilientSweepThresholdMultiplier,
    flags: workerRecovery.resilientTaskFlags,
  });
  return countTaken(crashed);
}

async function releaseStale(
  options: ReaperOptions,
  { judgesSilence }: RoundRules,
): Promise<number> {
  const { autoRequeueStaleClaimed, claimedStaleThresholdMs: thresholdMs } = options.recovery;
  if (!judgesSilence || !mayJudge(options, thresholdMs)) return 0;
  const recoverer = recovererOf(options);
  const stale = autoRequeueStaleClaimed
    ? await recoverTasks(recoverer, { cause: "claim stale", thresholdMs, ...noResilience })
    : [];
  const lapsed = await recoverTasks(recoverer, { cause: "lease expired" });
  return countTaken(stale) + countTaken(lapsed);
}

async function recoverStale(
  options: ReaperOptions,
  { judgesSilence }: RoundRules,
): Promise<number> {
  const { autoFailStaleRunning, runningStaleThresholdMs: thresholdMs } = options.recovery;
  if (!judgesSilence || !autoFailStaleRunning || !mayJudge(options, thresholdMs)) return 0;
  const criteria = { cause: "run stale", thresholdMs, ...noResilience } as const;
  return countTaken(await recoverTasks(recovererOf(options), criteria));
}

export async function expire({ database, hooks, log }: ReaperOptions): Promise<number> {
  let expired = 0;
  for (let batch = 0; batch < MOST_BATCHES; batch++) {
    const connection = await database.workflows.connection();
    const ids = await expireTasks(database.store, connection, EXPIRE_BATCH);
    const onDescribed = (tasks: readonly DescribedTask[]): void => logExpired(log, tasks);
    emitTaskEvents(database, hooks, { event: "taskExpired", ids, onDescribed });
    expired += ids.length;
    if (ids.length < EXPIRE_BATCH) break;
  }
  return expired;
}

/** One line for each task name: a queue that stood still may expire thousands at once. */
function logExpired(log: Logger, tasks: readonly DescribedTask[]): void {
  for (const name of new Set(tasks.map((task) => task.name))) {
    const expired = tasks.filter((task) => task.name === name);
    const named = expired.slice(0, MOST_NAMED).map(({ id }) => id);
    log.warn(
      { name, queue: expired[0]?.queue, count: expired.length, tasks: named },
      "tasks expired; no worker started them before their goodUntil",
    );
  }
}

/** Not while time is in doubt: whether a worker has served a queue for the grace is a question of time, too. */
async function endUnknown(
  { endUnknown: endTasks, signal }: ReaperOptions,
  { judgesSilence }: RoundRules,
): Promise<number> {
  return judgesSilence ? ((await endTasks?.(signal)) ?? 0) : 0;
}

async function reconcileWorkflows({ reconcile, signal }: ReaperOptions): Promise<number> {
  return (await reconcile?.(signal)) ?? 0;
}

async function mergeRollups({ database: { store, reads } }: ReaperOptions): Promise<number> {
  return store.writeRollups.merge(reads, MERGE_BATCH);
}

async function prune({ database, prune: pruneRecords }: ReaperOptions): Promise<number> {
  await database.store.awaitResults.prune(database.reads);
  await pruneRecords?.();
  return 0;
}

export function mayJudge(options: ReaperOptions, thresholdMs: number): boolean {
  return options.mayJudge?.(thresholdMs) ?? true;
}

/** Heartbeats of claims are judged by the thresholds of `recovery` alone. */
export const noResilience = { multiplier: 1, flags: [] } as const;

export function recovererOf(options: ReaperOptions): Recoverer {
  const { database, workerRecovery, workerId, hooks, log, definitions, signal } = options;
  return {
    database,
    settings: workerRecovery,
    recoveredBy: workerId,
    hooks,
    log,
    ...(definitions && { definitions }),
    ...(signal && { signal }),
  };
}

function countTaken(tasks: readonly RecoveredTask[]): number {
  return tasks.filter(({ decision }) => decision !== "skip").length;
}
