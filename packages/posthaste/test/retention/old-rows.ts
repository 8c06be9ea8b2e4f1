/** Rows of the age that a test needs, and a round of retention. */
import { databaseAt, readConfig } from "../../src/config/config.ts";
import { Database } from "../../src/database/database.ts";
import {
  prune,
  type PruneOptions,
  type PruneRound,
  type Retention,
} from "../../src/recovery/prune.ts";
import type { TestDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";

export const defaults: Retention = readConfig({}, {}).config.recovery;

export async function withDatabase<Answer>(
  db: TestDatabase,
  work: (database: Database) => Promise<Answer>,
): Promise<Answer> {
  const database = new Database({
    locate: async () => databaseAt(db.url),
    schema: "posthaste",
    autoMigrate: true,
    log: silentLogger,
  });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** One round with the retention of the defaults, except where `over` says otherwise. */
export function pruneOnce(
  db: TestDatabase,
  over: Partial<Retention> = {},
  options?: PruneOptions,
): Promise<PruneRound> {
  return withDatabase(db, (database) => prune(database, { ...defaults, ...over }, options));
}

export interface EndedSeed {
  /** How long ago it ended, as PostgreSQL writes an interval. */
  readonly ago: string;
  /** How long ago it was sent; if not said, when it ended. */
  readonly sentAgo?: string;
  /** An id of the caller's own; by default one that was made when the task was sent. */
  readonly id?: string;
  readonly status?: "COMPLETED" | "FAILED" | "CANCELLED" | "EXPIRED";
  readonly key?: string;
  readonly workflowId?: string;
}

/** An expression: an id of version 7, as it would have been made at that moment. */
export const idMadeAt = (moment: string, tail = "substr(md5(random()::text), 1, 16)") =>
  `(lpad(to_hex(floor(extract(epoch from ${moment}) * 1000)::bigint), 12, '0') || '7000' || ${tail})::uuid`;

/** Ids of version 7 that were made so long ago, or will be. */
export async function idsMade(db: TestDatabase, agos: readonly string[]): Promise<string[]> {
  const rows = await db.sql<{ id: string }>(
    `select ${idMadeAt("statement_timestamp() - ago::interval")} as id
       from unnest($1::text[]) with ordinality as each (ago, position) order by position`,
    [agos],
  );
  return rows.map(({ id }) => id);
}

/** Tasks that ended a while ago after two attempts, with progress; returns their ids. */
export async function addEnded(db: TestDatabase, seeds: readonly EndedSeed[]): Promise<string[]> {
  const made = await idsMade(
    db,
    seeds.map(({ ago, sentAgo = ago }) => sentAgo),
  );
  const items = seeds.map((seed, index) => ({ id: made[index], status: "COMPLETED", ...seed }));
  const ids = items.map(({ id }) => id ?? "");
  await db.sql(
    `with item as materialized (
       select id, status, key, "workflowId", statement_timestamp() - ago::interval as at
         from jsonb_to_recordset($1::text::jsonb)
              as item (id uuid, status text, key text, "workflowId" uuid, ago text)
     ), sent as (
       insert into posthaste.submissions (task_id, name, queue, priority, input, sent_at, key, workflow_id)
       select id, 'old', 'default', 100, '{}', at - interval '1 minute', key, "workflowId" from item
     ), of_runs as (
       insert into posthaste.earlier_nodes (workflow_id, node_no, item, retries, task_id, status)
       select "workflowId", row_number() over (), -1, 0, id, status from item where "workflowId" is not null
     ), tried as (
       insert into posthaste.attempts
         (task_id, attempt_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome)
       select id, 1, gen_random_uuid(), gen_random_uuid(), at, at, at, 'FAILED' from item
     ), said as (
       insert into posthaste.progress (task_id, attempt_no, updated_at, value) select id, 1, at, '1' from item
     )
     insert into posthaste.finished_tasks
       (task_id, status, enqueued_at, started_at, finished_at, claim_id, worker_id, attempt_no, error_code)
     select id, nullif(status, 'COMPLETED'), at, at, at, gen_random_uuid(), gen_random_uuid(), 2,
            case when status <> 'COMPLETED' then 'BROKEN' end
       from item`,
    [JSON.stringify(items)],
  );
  return ids;
}

/** Ended tasks, so many of them, by the expressions of `n` that say when each was sent and when it ended. */
export async function addManyEnded(
  db: TestDatabase,
  count: number,
  { sent, ended, id = idMadeAt(sent) }: { sent: string; ended: string; id?: string },
): Promise<void> {
  await db.sql(
    `with each as materialized (
       select ${id} as id, ${sent} as sent_at, ${ended} as ended_at from generate_series(1, $1::int) as n
     ), sent as (
       insert into posthaste.submissions (task_id, name, queue, priority, input, sent_at)
       select id, 'old', 'default', 100, '{}', sent_at from each
     )
     insert into posthaste.finished_tasks (task_id, enqueued_at, finished_at)
     select id, sent_at, ended_at from each`,
    [count],
  );
  // The laws are looked into after every test: without figures that took seconds or minutes, by chance.
  await db.sql("analyze posthaste.submissions, posthaste.finished_tasks");
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
