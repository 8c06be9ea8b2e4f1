/**
 * The maintenance pass that every worker carries: tasks whose deadline passed while nobody claimed them, claims that
 * nobody renews, running tasks whose worker has been silent for too long.
 */
import type { RecoveryConfig } from "../domain/config.ts";
import type { Logger } from "../domain/logger.ts";
import { announceTasks } from "../engine/announce-tasks.ts";
import type { Database } from "../engine/database.ts";
import type { HookRunner } from "../engine/hooks.ts";
import { recoverStaleRunning } from "../engine/recover-stale.ts";
import { isRepeatable } from "../engine/repeat-safely.ts";
import { wakeQueues } from "../engine/wake-workers.ts";
import { Periodic } from "../runtime/periodic.ts";

const BATCH = 1_000;

export interface ReaperOptions {
  readonly database: Database;
  readonly hooks: HookRunner;
  readonly recovery: RecoveryConfig;
  readonly log: Logger;
}

export interface Reaped {
  readonly expired: number;
  readonly released: number;
  readonly recovered: number;
}

export function startReaper(options: ReaperOptions): Periodic {
  return new Periodic({
    everyMs: options.recovery.checkIntervalMs,
    run: async () => {
      await reap(options);
    },
    onError: (error) =>
      // The worker beside it says that the database is away.
      options.log[isRepeatable(error) ? "debug" : "warn"](
        { error: String(error) },
        "a maintenance pass failed; the next one tries again",
      ),
  });
}

export async function reap(options: ReaperOptions): Promise<Reaped> {
  const { database } = options;
  const reaped = {
    expired: await expire(options),
    released: await release(options),
    recovered: await recover(options),
  };
  await database.store.awaitResults.prune(database.reads);
  return reaped;
}

/** Bounded batches until nothing is left to do. */
async function expire({ database, hooks, log }: ReaperOptions): Promise<number> {
  const { store, reads } = database;
  let expired = 0;
  for (;;) {
    const ids = await store.expireTasks(reads, BATCH);
    if (ids.length > 0) await store.awaitResults.notify(reads, ids);
    announceTasks(database, hooks, "taskExpired", ids);
    expired += ids.length;
    if (ids.length < BATCH) break;
  }
  if (expired > 0)
    log.info({ expired }, "tasks expired: nobody started them before their goodUntil");
  return expired;
}

async function release({ database, recovery, log }: ReaperOptions): Promise<number> {
  const { store, reads } = database;
  const { autoRequeueStaleClaimed, claimedStaleThresholdMs } = recovery;
  const back = await store.releaseExpired(
    reads,
    autoRequeueStaleClaimed ? claimedStaleThresholdMs : null,
  );
  if (back.length === 0) return 0;
  log.warn({ tasks: back.length }, "claimed tasks were given back: their worker let them lie");
  const hints = back.map(({ queue, priority }) => ({ queue, priority, due: "back" as const }));
  await wakeQueues(reads, store, hints);
  return back.length;
}

async function recover({ database, recovery, log }: ReaperOptions): Promise<number> {
  if (!recovery.autoFailStaleRunning) return 0;
  const recovered = await recoverStaleRunning(database, recovery.runningStaleThresholdMs);
  for (const { id, status } of recovered) {
    log.warn({ taskId: id, status }, "task recovered: its worker has been silent for too long");
  }
  return recovered.length;
}
