/** The maintenance pass that every worker carries. For now: tasks whose deadline passed while nobody claimed them. */
import type { Logger } from "../domain/logger.ts";
import type { Database } from "../engine/database.ts";
import { isRepeatable } from "../engine/repeat-safely.ts";
import { Periodic } from "../runtime/periodic.ts";

const BATCH = 1_000;

export interface ReaperOptions {
  readonly database: Database;
  readonly everyMs: number;
  readonly log: Logger;
}

export function startReaper({ database, everyMs, log }: ReaperOptions): Periodic {
  return new Periodic({
    everyMs,
    run: async () => {
      await reap(database, log);
    },
    onError: (error) =>
      // The worker beside it says that the database is away.
      log[isRepeatable(error) ? "debug" : "warn"](
        { error: String(error) },
        "a maintenance pass failed; the next one tries again",
      ),
  });
}

/** One pass: bounded batches until nothing is left to do. */
export async function reap(database: Database, log: Logger): Promise<{ expired: number }> {
  const { store, reads } = database;
  let expired = 0;
  for (;;) {
    const ids = await store.expireTasks(reads, BATCH);
    if (ids.length > 0) await store.awaitResults.notify(reads, ids);
    expired += ids.length;
    if (ids.length < BATCH) break;
  }
  await store.awaitResults.prune(reads);
  if (expired > 0)
    log.info({ expired }, "tasks expired: nobody started them before their goodUntil");
  return { expired };
}
