/** Rows of the age that a test needs, and a round of retention. */
import { randomUUID } from "node:crypto";
import { databaseAt, readConfig } from "../../src/domain/config.ts";
import { Database } from "../../src/engine/database.ts";
import {
  prune,
  type PruneOptions,
  type PruneRound,
  type Retention,
} from "../../src/engine/prune.ts";
import type { TestDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";

export const defaults: Retention = readConfig({}, {}).config.recovery;

/** One round with the retention of the defaults, except where `over` says otherwise. */
export async function pruneOnce(
  db: TestDatabase,
  over: Partial<Retention> = {},
  options?: PruneOptions,
): Promise<PruneRound> {
  const database = new Database({
    locate: async () => databaseAt(db.url),
    schema: "posthaste",
    autoMigrate: true,
    log: silentLogger,
  });
  try {
    return await prune(database, { ...defaults, ...over }, options);
  } finally {
    await database.close();
  }
}

export interface EndedSeed {
  /** How long ago it ended, as PostgreSQL writes an interval. */
  readonly ago: string;
  readonly status?: "COMPLETED" | "FAILED" | "CANCELLED" | "EXPIRED";
  readonly key?: string;
  readonly workflowId?: string;
}

/** Tasks that ended a while ago after two attempts, with progress; returns their ids. */
export async function addEnded(db: TestDatabase, seeds: readonly EndedSeed[]): Promise<string[]> {
  const items = seeds.map((seed) => ({ id: randomUUID(), status: "COMPLETED", ...seed }));
  await db.sql(
    `with item as materialized (
       select id, status, key, "workflowId", statement_timestamp() - ago::interval as at
         from jsonb_to_recordset($1::text::jsonb)
              as item (id uuid, status text, key text, "workflowId" uuid, ago text)
     ), sent as (
       insert into posthaste.submissions (task_id, name, queue, priority, input, sent_at, key, workflow_id)
       select id, 'old', 'default', 100, '{}', at - interval '1 minute', key, "workflowId" from item
     ), tried as (
       insert into posthaste.attempts
         (task_id, run_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome)
       select id, 1, gen_random_uuid(), gen_random_uuid(), at, at, at, 'FAILED' from item
     ), said as (
       insert into posthaste.progress (task_id, run_no, updated_at, value) select id, 1, at, '1' from item
     )
     insert into posthaste.finished_tasks
       (task_id, status, enqueued_at, started_at, finished_at, claim_id, worker_id, run_no, error_code)
     select id, status, at, at, at, gen_random_uuid(), gen_random_uuid(), 2,
            case when status <> 'COMPLETED' then 'BROKEN' end
       from item`,
    [JSON.stringify(items)],
  );
  return items.map(({ id }) => id);
}

export async function addHeartbeats(db: TestDatabase, agos: readonly string[]): Promise<void> {
  await db.sql(
    `insert into posthaste.heartbeats (task_id, claim_id, sender_id, sent_at, pid, role, hostname)
     select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), statement_timestamp() - ago::interval, 1,
            'runner', ago
       from unnest($1::text[]) as ago`,
    [agos],
  );
}
