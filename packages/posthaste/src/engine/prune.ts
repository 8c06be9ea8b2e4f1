/** Retention: what is over is deleted after a while, in small batches, so that nobody notices but the disk. */
import type { RecoveryConfig } from "../domain/config.ts";
import type { Logger } from "../domain/logger.ts";
import type { Database } from "./database.ts";

/** Heartbeats; states of workers, with workers that are gone and recoveries; tasks that have ended. */
export const retentionCategories = ["heartbeats", "workerStates", "terminalRecords"] as const;
export type RetentionCategory = (typeof retentionCategories)[number];

export type Retention = Pick<
  RecoveryConfig,
  "heartbeatRetentionHours" | "workerStateRetentionHours" | "terminalRecordRetentionHours"
>;

/** How many rows of each category; a task counts once, with everything that is stored of it. */
export type Pruned = Readonly<Record<RetentionCategory, number>>;

export interface PruneRound extends Pruned {
  /** Categories of which there was more than one round may delete. */
  readonly unfinished: readonly RetentionCategory[];
}

export interface PruneOptions {
  readonly categories?: readonly RetentionCategory[];
  /** Only count what would be deleted. */
  readonly dryRun?: boolean;
}

/** Rows of a table in one statement: a few milliseconds of locks that nobody else wants. */
const BATCH = 1_000;
/** A round takes no longer than a few seconds; what is left is for the next one, soon. */
const MOST_BATCHES = 50;
const HOUR_MS = 3_600_000;
const nothing: Pruned = { heartbeats: 0, workerStates: 0, terminalRecords: 0 };

/** One bounded round. A category whose hours are null is left alone. */
export async function prune(
  database: Database,
  retention: Retention,
  { categories = retentionCategories, dryRun = false }: PruneOptions = {},
): Promise<PruneRound> {
  const hours: Readonly<Record<RetentionCategory, number | null>> = {
    heartbeats: retention.heartbeatRetentionHours,
    workerStates: retention.workerStateRetentionHours,
    terminalRecords: retention.terminalRecordRetentionHours,
  };
  const pruned: Record<RetentionCategory, number> = { ...nothing };
  const unfinished: RetentionCategory[] = [];
  for (const category of categories) {
    const keepHours = hours[category];
    if (keepHours === null) continue;
    if (dryRun) {
      pruned[category] = await count(database, category, keepHours);
      continue;
    }
    const next = batchesOf(database, category, keepHours);
    for (let batches = 1, last = BATCH; last >= BATCH; batches++) {
      last = await next();
      pruned[category] += last;
      if (last >= BATCH && batches >= MOST_BATCHES) {
        unfinished.push(category);
        break;
      }
    }
  }
  return { ...pruned, unfinished };
}

/** Round after round, until nothing is left. */
export async function pruneAll(
  database: Database,
  retention: Retention,
  dryRun: boolean,
): Promise<Pruned> {
  const total = { ...nothing };
  let categories: readonly RetentionCategory[] = retentionCategories;
  while (categories.length > 0) {
    const { unfinished, ...pruned } = await prune(database, retention, { categories, dryRun });
    for (const category of categories) total[category] += pruned[category];
    categories = unfinished;
  }
  return total;
}

/** Deletes the next batch and says how many rows that were; fewer than a batch: nothing is left. */
function batchesOf(
  { store, reads }: Database,
  category: RetentionCategory,
  keepHours: number,
): () => Promise<number> {
  const { pruneRecords } = store;
  if (category === "heartbeats") return () => pruneRecords.heartbeats(reads, keepHours, BATCH);
  if (category === "workerStates") return () => pruneRecords.workerStates(reads, keepHours, BATCH);
  let since: string | null = null;
  return async () => {
    const { pruned, reached } = await pruneRecords.tasks(reads, keepHours, BATCH, since);
    since = reached ?? since;
    return pruned;
  };
}

function count(
  { store, reads }: Database,
  category: RetentionCategory,
  keepHours: number,
): Promise<number> {
  const { heartbeats, workerStates, tasks } = store.pruneRecords.count;
  if (category === "heartbeats") return heartbeats(reads, keepHours);
  if (category === "workerStates") return workerStates(reads, keepHours);
  return tasks(reads, keepHours);
}

/**
 * Retention for a maintenance pass, to be called at every tick: heartbeats each time, the rest every hour, or at the next
 * tick where a round did not get to the end.
 */
export function retentionRounds(
  database: Database,
  retention: Retention,
  log: Logger,
): () => Promise<void> {
  const dueAt = new Map<RetentionCategory, number>();
  return async () => {
    const now = performance.now();
    const categories = retentionCategories.filter((each) => (dueAt.get(each) ?? 0) <= now);
    const { unfinished, ...pruned } = await prune(database, retention, { categories });
    for (const category of categories) {
      const isSoon = category === "heartbeats" || unfinished.includes(category);
      dueAt.set(category, isSoon ? now : now + HOUR_MS);
    }
    if (Object.values(pruned).some((rows) => rows > 0))
      log.info({ pruned }, "old records were deleted");
  };
}
