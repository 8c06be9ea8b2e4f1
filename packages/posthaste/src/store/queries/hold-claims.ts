import { sql, statement, type Db, type SqlText } from "../sql.ts";
import type { ClaimedTask } from "./claim-tasks.ts";

export interface HeldClaim {
  readonly id: string;
  readonly claimId: string;
}

/** What a worker does about the claims it holds: renews them, and compares what it believes with what is stored. */
export function holdClaims(schema: SqlText) {
  // Served by active_tasks_worker_idx. A row that somebody has locked is left out: the next round renews it, and a
  // heartbeat must never wait for a finish or make one wait. Who never waits needs no lock order; with one, the planner
  // walked all of active_tasks_id_idx, every worker's rows, to save the sort.
  const RENEW = statement(sql`
    with mine as materialized (
      select task_id from ${schema}.active_tasks where worker_id = $1 for update skip locked
    )
    update ${schema}.active_tasks
       set heartbeat_at = statement_timestamp(),
           claim_expires_at = statement_timestamp() + $2::float8 * interval '1 millisecond'
     where task_id = any (array(select task_id from mine))`);

  const LIST = statement(sql`
    select task_id as "id", claim_id as "claimId" from ${schema}.active_tasks where worker_id = $1`);

  // The same columns as a claim returns: a stray is a claim whose acknowledgement never arrived. Looked up row by row:
  // written as a join, the planner walked all of active_tasks_id_idx.
  const ADOPT = statement(sql`
    select stray.task_id as "id", stray.claim_id as "claimId", stray.name, stray.queue, stray.priority,
           (extract(epoch from stray.enqueued_at) * 1000)::float8 as "enqueuedAt", stray.run_no as "runNo",
           stray.retry_count as "retryCount", submission.input, submission.options,
           stray.status = 'RUNNING' as "isStarted"
      from ${schema}.active_tasks as stray
     cross join lateral (
       select input, options from ${schema}.submissions where task_id = stray.task_id limit 1
     ) as submission
     where stray.worker_id = $1 and stray.claim_id = any ($2::uuid[])`);

  return {
    async renew(db: Db, workerId: string, leaseMs: number): Promise<void> {
      await db.query(RENEW, [workerId, leaseMs]);
    },
    list: (db: Db, workerId: string): Promise<HeldClaim[]> => db.query<HeldClaim>(LIST, [workerId]),
    adopt: (
      db: Db,
      workerId: string,
      claimIds: readonly string[],
    ): Promise<(ClaimedTask & { readonly isStarted: boolean })[]> =>
      db.query<ClaimedTask & { readonly isStarted: boolean }>(ADOPT, [workerId, claimIds]),
  };
}
