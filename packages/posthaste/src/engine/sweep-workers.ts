/**
 * The sweep: takes tasks from workers that have not been heard of for too long, and from those that nobody knows.
 *
 * Sweeps may run at once, in several workers and by operators. Each finds and decides on its own, since hooks are asked
 * outside of any lock; what is changed is changed under one lock for the schema, and whoever does not get it leaves
 * everything as it is. Even without that lock each task would be recovered once: the statement that moves it names its
 * claim and asks its condition again. Two sweeps may both ask a hook about a task; the answer of one of them is applied.
 */
import type { WorkerRecoveryConfig } from "../domain/config.ts";
import type { TimedCause } from "../store/queries/recovery-causes.ts";
import type { Connection } from "../store/connection.ts";
import type { Idle } from "../store/queries/sweep-workers.ts";
import { inOneTransaction } from "../store/transaction.ts";
import type { Database } from "./database.ts";
import { announceRecovered } from "./announce-recovered.ts";
import { applyPageWithin } from "./apply-recovery.ts";
import { decidedPages, planRecovery } from "./recover-tasks.ts";
import { BY_ADMIN, type RecoveredTask, type Recoverer } from "./recovered-tasks.ts";

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

/** False: somebody else sweeps, and the rest is theirs. */
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
      tasks.push(...(await announceRecovered(recoverer, page, applied)));
      for (const { found } of page) owners.add(found.workerId);
    }
  }
  return true;
}

/** What a sweep would do, by rule: no hook is asked, nothing is changed, and no lock is taken. */
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

/** On a session of its own, since others' statements travel on the shared ones. Undefined: somebody else sweeps. */
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
