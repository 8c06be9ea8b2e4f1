import { sql, statement, uuidArray, type Db, type SqlText } from "../../sql.ts";
import { placeInQueue } from "../send/place-in-queue.ts";
import { attemptsSoFar, claimedNode, readNode } from "./claim-rows.ts";
import type { ClaimedTask } from "./claim-tasks.ts";

/** Which task, and which claim of it. */
export interface Claim {
  readonly id: string;
  readonly claimId: string;
}

/** A claim id shares 8 bytes with its task id, and callers choose task ids, so compare both. */
export function claimKey({ id, claimId }: Claim): string {
  return `${id}/${claimId}`;
}

export interface StoredClaim extends Claim {
  readonly isCancelRequested: boolean;
  /** Its queue is. */
  readonly isPaused: boolean;
}

export interface AdoptedTask extends ClaimedTask {
  readonly isStoredRunning: boolean;
}

/** A task that a worker runs, as an operator would name it. */
export interface RunningTask {
  readonly id: string;
  readonly name: string;
  /** It has one of the flags that were asked for, set and true. */
  readonly isResilient: boolean;
}

/** The statements by which a worker reconciles its claims with the database. */
export function storedClaims(schema: SqlText) {
  // All stored claims of the worker, unknown ones included. There is no index by worker (see the table): it reads all active tasks of the
  // cluster, once a heartbeat. Queues are looked up only if one is paused.
  const LIST = statement(sql`
    with paused as materialized (
      select array(select queue from ${schema}.queues where paused_at is not null) as queues
    )
    select held.task_id as "id", held.claim_id as "claimId", cancel_requested_at is not null as "isCancelRequested",
           coalesce(sent.queue = any (paused.queues), false) as "isPaused"
      from paused
     cross join ${schema}.active_tasks as held
      left join lateral ${placeInQueue(schema, sql`case when cardinality(paused.queues) > 0 then held.task_id end`)} as sent
             on true
     where held.worker_id = $1`);

  // For a worker whose notifications do not arrive. Served by active_tasks_id_idx.
  const CANCELLED = statement(sql`
    select held.task_id as "id", held.claim_id as "claimId"
      from unnest($1::uuid[], $2::uuid[]) as given (id, claim)
     cross join lateral (
       select task_id, claim_id from ${schema}.active_tasks as active
        where active.task_id = given.id and active.claim_id = given.claim and active.cancel_requested_at is not null
        limit 1
     ) as held`);

  // The same columns as a claim returns: an adopted claim is one whose answer never arrived.
  const ADOPT = statement(sql`
    select adopted.task_id as "id", adopted.claim_id as "claimId", submission.name, submission.queue, submission.priority,
           date_part('epoch', coalesce(adopted.enqueued_at, submission.run_at, submission.sent_at)) * 1000 as "enqueuedAt",
           ${attemptsSoFar(sql`adopted`)} as "attemptNo",
           coalesce(adopted.retry_count, 0) as "retryCount", submission.input, submission.options,
           adopted.started_at is not null as "isStoredRunning", ${claimedNode(schema, sql`adopted.good_until`)} as "node"
      from unnest($1::uuid[], $2::uuid[]) as given (id, claim)
     cross join lateral (
       select * from ${schema}.active_tasks where task_id = given.id and claim_id = given.claim limit 1
     ) as adopted
     cross join lateral (
       select * from ${schema}.submissions where task_id = adopted.task_id limit 1
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
    /** The claims among these whose cancellation was requested. */
    cancelled: (db: Db, claims: readonly Claim[]): Promise<Claim[]> =>
      db.query<Claim>(CANCELLED, [ids(claims), claimIds(claims)]),
    async adopt(db: Db, claims: readonly Claim[]): Promise<AdoptedTask[]> {
      const rows = await db.query<Omit<AdoptedTask, "node"> & { node: string | null }>(ADOPT, [
        ids(claims),
        claimIds(claims),
      ]);
      return rows.map((row) => ({ ...row, node: readNode(row.node) }));
    },
  };
}

function ids(claims: readonly Claim[]): string {
  return uuidArray(claims.map(({ id }) => id));
}

function claimIds(claims: readonly Claim[]): string {
  return uuidArray(claims.map(({ claimId }) => claimId));
}
