/** Retention: deletes old records in small batches. */
import type { RecoveryConfig } from "../config/config.ts";
import type { Database } from "../database/database.ts";
import type { Logger } from "../domain/logger.ts";
import type { PrunedBatch } from "../store/queries/retention/prune-records.ts";

/**
 * Heartbeats; states of workers, with workers that are gone and recoveries; tasks and runs that have ended, and firings of schedules;
 * counts of ends.
 */
export const retentionCategories = [
  "heartbeats",
  "workerStates",
  "terminalRecords",
  "rollups",
] as const;
export type RetentionCategory = (typeof retentionCategories)[number];

export type Retention = Pick<
  RecoveryConfig,
  | "heartbeatRetentionHours"
  | "workerStateRetentionHours"
  | "terminalRecordRetentionHours"
  | "failedRecordRetentionHours"
  | "rollupRetentionHours"
>;

/**
 * How many rows of each category; a task counts once, with everything that is stored of it, and so does a run, with its
 * nodes, their tasks, and the runs that are nested in it. A firing of a schedule counts, too.
 */
export type Pruned = Readonly<Record<RetentionCategory, number>>;

export interface PruneRound extends Pruned {
  /** Categories of which there was more than one round may delete. */
  readonly unfinished: readonly RetentionCategory[];
}

export interface PruneOptions {
  readonly categories?: readonly RetentionCategory[];
  /** Only count what would be deleted. */
  readonly dryRun?: boolean;
  /** Shared by several rounds, so that each continues where the last one stopped. */
  readonly places?: PrunePlaces;
}

/** Where each category that is not at its end has got to. */
export type PrunePlaces = Map<RetentionCategory, PrunePlace>;

interface PrunePlace {
  readonly pass: number;
  /** Null: the pass is at its beginning. */
  readonly from: string | null;
}

/** Deletes one batch of old records. */
type PrunePass = (from: string | null) => Promise<PrunedBatch>;

/** Rows of a table in one statement: a few milliseconds of locks on old rows. */
const BATCH = 1_000;
/** A round takes a few seconds at most; the next one follows soon. */
const MOST_BATCHES = 50;
const HOUR_MS = 3_600_000;
const nothing: Pruned = { heartbeats: 0, workerStates: 0, terminalRecords: 0, rollups: 0 };

/** One bounded round. A category whose hours are null is left alone, except tasks whose definition says for how long they are kept. */
export async function prune(
  database: Database,
  retention: Retention,
  { categories = retentionCategories, dryRun = false, places = new Map() }: PruneOptions = {},
): Promise<PruneRound> {
  const pruned: Record<RetentionCategory, number> = { ...nothing };
  for (const category of categories) {
    if (dryRun) {
      pruned[category] = await count(database, category, retention);
      continue;
    }
    const round = await batchesOf(passesOf(database, category, retention), places.get(category));
    pruned[category] = round.pruned;
    if (round.place === undefined) places.delete(category);
    else places.set(category, round.place);
  }
  return { ...pruned, unfinished: categories.filter((category) => places.has(category)) };
}

/** The batches of one round, and where they had to stop: undefined if all passes are at their end. */
async function batchesOf(
  passes: readonly PrunePass[],
  place: PrunePlace = { pass: 0, from: null },
): Promise<{ pruned: number; place: PrunePlace | undefined }> {
  let { pass, from } = place;
  let total = 0;
  for (let batches = 0; batches < MOST_BATCHES; batches++) {
    const next = passes[pass];
    if (next === undefined) return { pruned: total, place: undefined };
    const { pruned, reached } = await next(from);
    total += pruned;
    from = reached;
    if (reached === null) pass++;
  }
  return { pruned: total, place: pass < passes.length ? { pass, from } : undefined };
}

/** Round after round, until nothing is left. */
export async function pruneAll(
  database: Database,
  retention: Retention,
  dryRun: boolean,
): Promise<Pruned> {
  const total = { ...nothing };
  const places: PrunePlaces = new Map();
  let categories: readonly RetentionCategory[] = retentionCategories;
  while (categories.length > 0) {
    const { unfinished, ...pruned } = await prune(database, retention, {
      categories,
      dryRun,
      places,
    });
    for (const category of categories) total[category] += pruned[category];
    categories = unfinished;
  }
  return total;
}

function passesOf(
  { store, reads }: Database,
  category: RetentionCategory,
  retention: Retention,
): readonly PrunePass[] {
  const { tasks, tasksOfOwnId, workflows, scheduleFirings, ...byTime } = store.pruneRecords;
  const oldest =
    (ask: typeof scheduleFirings, keepHours: number): PrunePass =>
    async () => {
      const pruned = await ask(reads, keepHours, BATCH);
      // The oldest records are found without a stored place.
      return { pruned, reached: pruned < BATCH ? null : "" };
    };
  if (category !== "terminalRecords") {
    const keepHours = retention[hoursByTime[category]];
    return keepHours === null ? [] : [oldest(byTime[category], keepHours)];
  }
  const [completedHours, failedHours] = taskHours(retention);
  const ofTasks = [tasks, tasksOfOwnId].map(
    (pass) => (from: string | null) =>
      pass(reads, { hours: [completedHours, failedHours], most: BATCH, from }),
  );
  if (completedHours === null) return ofTasks;
  return [
    ...ofTasks,
    (from) => workflows(reads, { hours: [completedHours], most: BATCH, from }),
    oldest(scheduleFirings, completedHours),
  ];
}

async function count(
  { store, reads }: Database,
  category: RetentionCategory,
  retention: Retention,
): Promise<number> {
  const { tasks, workflows, scheduleFirings, ...byTime } = store.pruneRecords.count;
  if (category === "terminalRecords") {
    const [completedHours, failedHours] = taskHours(retention);
    const ended = await tasks(reads, completedHours, failedHours);
    if (completedHours === null) return ended;
    const runs = await workflows(reads, completedHours);
    return ended + runs + (await scheduleFirings(reads, completedHours));
  }
  const keepHours = retention[hoursByTime[category]];
  return keepHours === null ? 0 : byTime[category](reads, keepHours);
}

const hoursByTime = {
  heartbeats: "heartbeatRetentionHours",
  workerStates: "workerStateRetentionHours",
  rollups: "rollupRetentionHours",
} as const satisfies Record<Exclude<RetentionCategory, "terminalRecords">, keyof Retention>;

/** The hours of COMPLETED tasks and runs, and those of all other tasks. */
function taskHours({
  terminalRecordRetentionHours: completed,
  failedRecordRetentionHours: failed = completed,
}: Retention): readonly [number | null, number | null] {
  return [completed, failed];
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
  const places: PrunePlaces = new Map();
  return async () => {
    const now = performance.now();
    const categories = retentionCategories.filter((each) => (dueAt.get(each) ?? 0) <= now);
    const { unfinished, ...pruned } = await prune(database, retention, {
      categories,
      places,
    });
    for (const category of categories) {
      const isSoon = category === "heartbeats" || unfinished.includes(category);
      dueAt.set(category, isSoon ? now : now + HOUR_MS);
    }
    if (Object.values(pruned).some((rows) => rows > 0)) log.info({ pruned }, "old records deleted");
  };
}
