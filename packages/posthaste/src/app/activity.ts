/** Facts for `posthaste top` that no admin call has. */
import type { Database } from "../database/database.ts";
import type { ActivityCounters, WorkerSample } from "../store/queries/read/read-activity.ts";

export type { WorkerSample };

export interface Activity {
  readonly counters: ActivityCounters;
  /** The latest one of each living worker. */
  readonly samples: readonly WorkerSample[];
}

export async function readActivity(database: Database): Promise<Activity> {
  await database.ensureSchema();
  const { reads, store } = database;
  const [counters, samples] = await Promise.all([
    store.readActivity.counters(reads, store.schema),
    store.readActivity.samples(reads),
  ]);
  return { counters, samples };
}
