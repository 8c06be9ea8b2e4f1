/** Facts for `posthaste top` that no admin call has. */
import type { Database } from "../database/database.ts";
import type {
  ActivityCounters,
  FailedTask,
  WorkerSample,
} from "../store/queries/read/read-activity.ts";

export type { FailedTask, WorkerSample };

export interface Activity {
  readonly counters: ActivityCounters;
  /** Newest first. */
  readonly failures: readonly FailedTask[];
  /** The latest one of each living worker. */
  readonly samples: readonly WorkerSample[];
}

const MOST_FAILURES = 100;

export async function readActivity(database: Database): Promise<Activity> {
  await database.ensureSchema();
  const { reads, store } = database;
  const [counters, failures, samples] = await Promise.all([
    store.readActivity.counters(reads, store.schema),
    store.readActivity.failures(reads, MOST_FAILURES),
    store.readActivity.samples(reads),
  ]);
  return { counters, failures, samples };
}
