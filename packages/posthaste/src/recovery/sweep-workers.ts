/**
 * The sweep recovers tasks of workers without heartbeats, and of unregistered workers.
 *
 * Several workers and operators may sweep at once. Each finds and decides on its own, because hooks are called outside of any lock.
 * Changes are made under one lock of the schema; a sweep that does not get it changes nothing. Even without that lock each task would
 * be recovered once: the statement that moves it names its claim and checks its condition again. Two sweeps may ask a hook about the
 * same task; one of the answers is applied.
 */
import type { WorkerRecoveryConfig } from "../config/config.ts";
import type { Database } from "../database/database.ts";
import type { Connection } from "../store/connection.ts";
import type { TimedCause } from "../store/queries/recover/recovery-causes.ts";
import type { Idle } from "../store/queries/recover/sweep-workers.ts";
import { inOneTransaction } from "../store/transaction.ts";
import { applyPageWithin } from "./apply-recovery.ts";
import { decidedPages, planRecovery } from "./recover-tasks.ts";
import { BY_ADMIN, type RecoveredTask, type Recoverer } from "./recovered-tasks.ts";
import { reportRecovered } from "./report-recovered.ts";

export interface SweepSettings extends Pick<
  WorkerRecoveryConfig,
  "sweepThresholdMs" | "resilientSweepThresholdMultiplier" | "resilientTaskFlags"
> {
  /** Judges at once, even though the server has started or was promoted a moment ago. */
  readonly isForced?: boolean;
}

export interface Sweep {
  /** Workers that were found gone: registered or not, and whether or not a hook left them their tasks. */
  readonly workerIds: readonly string[];
  /** Tasks that were taken from them. */
  readonly recoveredCount: number;
  /** The same tasks, and those that a hook has left where they are. */
  readonly tasks: readonly RecoveredTask[];
}

const causes = ["worker silent", "worker unknown"] as const satisfies readonly TimedCause[];

export async function sweepWorkers(recoverer: Recoverer, settings: SweepSettings): Promise<Sweep> {
  const { database, hooks } = recoverer;
  const { sweepWorkers: workers } = database.store;
  const found: Found = { owners: new Set(), tasks: [] };
  const isAlone = await sweepTasks(recoverer, settings, found);
  const idle = idleWorkers(settings, ownId(recoverer));
  if (isAlone && (await workers.findIdle(database.reads, idle)).length > 0) {
    const dead = await underSweepLock(database, (session) => workers.markIdle(session, idle));
    for (const workerId of dead ?? []) found.owners.add(workerId);
  }
  const sweep = sweepOf(found);
  const { workerIds, recoveredCount } = sweep;
  if (workerIds.length > 0) hooks.emit.workerRecovered?.({ workerIds, recoveredCount });
  return sweep;
}

interface Found {
  readonly owners: Set<string>;
  readonly tasks: RecoveredTask[];
}

/** False: another sweep has the lock and does the rest. */
async function sweepTasks(
  recoverer: Recoverer,
  settings: SweepSettings,
  { owners, tasks }: Found,
): Promise<boolean> {
  const { database } = recoverer;
  for (const cause of causes) {
    const criteria = sweepCriteria(cause, settings);
    for await (const page of decidedPages(recoverer, criteria, ownId(recoverer))) {
      const applied = await underSweepLock(database, (session) =>
        applyPageWithin(recoverer, session, criteria, page),
      );
      if (applied === undefined) return false;
      tasks.push(...(await reportRecovered(recoverer, page, applied)));
      for (const { found } of page) owners.add(found.workerId);
    }
  }
  return true;
}

/** The decisions of a sweep without asking hooks, changing rows or taking the lock. */
export async function planSweep(recoverer: Recoverer, settings: SweepSettings): Promise<Sweep> {
  const { store, reads } = recoverer.database;
  const tasks: RecoveredTask[] = [];
  for (const cause of causes)
    tasks.push(...(await planRecovery(recoverer, sweepCriteria(cause, settings))));
  const idle = await store.sweepWorkers.findIdle(reads, idleWorkers(settings, null));
  return sweepOf({ owners: new Set([...tasks.map(({ workerId }) => workerId), ...idle]), tasks });
}

/** A worker that sweeps lives, whatever its row says: it never sweeps itself. Null: an operator sweeps. */
function ownId({ recoveredBy }: Recoverer): string | null {
  return recoveredBy === BY_ADMIN ? null : recoveredBy;
}

function idleWorkers(settings: SweepSettings, exceptId: string | null): Idle {
  const { sweepThresholdMs: thresholdMs, isForced = false } = settings;
  return { thresholdMs, exceptId, isForced };
}

function sweepCriteria(cause: TimedCause, settings: SweepSettings) {
  return {
    cause,
    thresholdMs: settings.sweepThresholdMs,
    multiplier: settings.resilientSweepThresholdMultiplier,
    flags: settings.resilientTaskFlags,
    isForced: settings.isForced ?? false,
  };
}

function sweepOf({ owners, tasks }: Found): Sweep {
  const recoveredCount = tasks.filter(({ decision }) => decision !== "skip").length;
  return { workerIds: [...owners], recoveredCount, tasks };
}

/** On a session of its own, because other calls use the shared ones. Undefined: another sweep has the lock. */
function underSweepLock<Answer>(
  database: Database,
  change: (session: Connection) => Promise<Answer>,
): Promise<Answer | undefined> {
  return database.withFreshSession((session) =>
    inOneTransaction(session, async () =>
      (await database.store.sweepWorkers.tryLock(session)) ? change(session) : undefined,
    ),
  );
}
