import { runsSoFar } from "./runs-so-far.ts";
import { sql, statement, uuidArray, type Db, type SqlText } from "../sql.ts";
import type { ClaimedTask } from "./claim-tasks.ts";
import { claimedNode, readNode } from "./claimed-node.ts";
import { placeInLine } from "./place-in-line.ts";

export interface HeldClaim {
  readonly id: string;
  readonly claimId: string;
}

export interface StoredClaim extends HeldClaim {
  readonly isCancelRequested: boolean;
  /** Its queue is. */
  readonly isPaused: boolean;
}

export interface AdoptedTask extends ClaimedTask {
  readonly isStarted: boolean;
}

/** A task that a worker runs, as an operator would name it. */
export interface RunningTask {
  readonly id: string;
  readonly name: string;
  /** It has one of the flags that were asked for, set and true. */
  readonly isResilient: boolean;
}

/** How a worker compares what it believes to hold with what is stored. */
export function holdClaims(schema: SqlText) {
  // What is held, stored rows that this worker knows nothing of included. There is no index by worker (see the table):
  // it reads what runs at this moment, in the whole cluster, once a heartbeat. Queues are looked up only if one is paused.
  const LIST = statement(sql`
    with paused as materialized (
      select array(select queue from ${schema}.queues where paused_at is not null) as queues
    )
    select held.task_id as "id", held.claim_id as "claimId", cancel_requested_at is not null as "isCancelRequested",
           coalesce(sent.queue = any (paused.queues), false) as "isPaused"
      from paused
     cross join ${schema}.active_tasks as held
      left join lateral ${placeInLine(schema, sql`case when cardinality(paused.queues) > 0 then held.task_id end`)} as sent
             on true
     where held.worker_id = $1`);

  // For a worker whose notifications do not arrive. Served by active_tasks_id_idx.
  const CANCELLED = statement(sql`
    select held.task_id as "id", held.claim_id as "claimId"
      from unnest($1::uuid[], $2::uuid[]) as said (id, claim)
     cross join lateral (
       select task_id, claim_id from ${schema}.active_tasks as active
        where active.task_id = said.id and active.claim_id = said.claim and active.cancel_requested_at is not null
        limit 1
     ) as held`);

  // The same columns as a claim returns: a stray is a claim whose acknowledgement never arrived.
  const ADOPT = statement(sql`
    select stray.task_id as "id", stray.claim_id as "claimId", submission.name, submission.queue, submission.priority,
           date_part('epoch', coalesce(stray.enqueued_at, submission.run_at, submission.sent_at)) * 1000 as "enqueuedAt",
           ${runsSoFar(sql`stray`)} as "attemptNo",
           coalesce(stray.retry_count, 0) as "retryCount", submission.input, submission.options,
           stray.started_at is not null as "isStarted", ${claimedNode(schema, sql`stray.good_until`)} as "node"
      from unnest($1::uuid[], $2::uuid[]) as said (id, claim)
     cross join lateral (
       select * from ${schema}.active_tasks where task_id = said.id and claim_id = said.claim limit 1
     ) as stray
     cross join lateral (
       select * from ${schema}.submissions where task_id = stray.task_id limit 1
     ) as submission`);

  // Asked once by a worker whose event loop is blocked. It reads what runs at this moment, as LIST does.
  const RUNNING = statement(sql`
    select held.task_id as "id", sent.name as "name",
           exists (select from unnest($2::text[]) as flag (name) where sent.flags -> flag.name = 'true') as "isResilient"
      from ${schema}.active_tasks as held
      join ${schema}.submissions as sent on sent.task_id = held.task_id
     where held.worker_id = $1 and held.started_at is not null
     order by held.task_id`);

  return {
    list: (db: Db, workerId: string): Promise<StoredClaim[]> =>
      db.query<StoredClaim>(LIST, [workerId]),
    running: (db: Db, workerId: string, flags: readonly string[]): Promise<RunningTask[]> =>
      db.query<RunningTask>(RUNNING, [workerId, flags]),
    /** Those of them whose cancellation was requested. */
    cancelled: (db: Db, claims: readonly HeldClaim[]): Promise<HeldClaim[]> =>
      db.query<HeldClaim>(CANCELLED, [ids(claims), claimIds(claims)]),
    async adopt(db: Db, claims: readonly HeldClaim[]): Promise<AdoptedTask[]> {
      const rows = await db.query<Omit<AdoptedTask, "node"> & { node: string | null }>(ADOPT, [
        ids(claims),
        claimIds(claims),
      ]);
      return rows.map((row) => ({ ...row, node: readNode(row.node) }));
    },
  };
}

function ids(claims: readonly HeldClaim[]): string {
  return uuidArray(claims.map(({ id }) => id));
}

function claimIds(claims: readonly HeldClaim[]): string {
  return uuidArray(claims.map(({ claimId }) => claimId));
}
