import { sql, statement, type Db, type SqlText } from "../sql.ts";
import { EXPIRED_ERROR } from "./claim-tasks.ts";

export interface StartReply {
  /** Started, with the number of the body that may now run. Asked for and in neither list: not ours any more. */
  readonly started: readonly { readonly id: string; readonly runNo: number }[];
  readonly expired: readonly string[];
}

/**
 * CLAIMED to RUNNING for tasks that were fetched ahead, once a slot is free. Here the deadline is checked again: what
 * passed it in the buffer ends EXPIRED and no attempt is counted. Fenced by claim_id; served by active_tasks_id_idx;
 * locks in id order (the claims come sorted) and waits, for the reason given in settle-tasks.ts.
 */
export function startTasks(schema: SqlText) {
  const START = statement(sql`
    with mine as materialized (
      select held.*, coalesce(held.good_until <= statement_timestamp(), false) as is_late
        from unnest($1::uuid[], $2::uuid[]) as said (id, claim)
       cross join lateral (
         select * from ${schema}.active_tasks as active
          where active.task_id = said.id and active.claim_id = said.claim and active.started_at is null
            for update
       ) as held
    ), late as (
      delete from ${schema}.active_tasks where task_id = any (array(select task_id from mine where is_late))
    ), expired as (
      insert into ${schema}.finished_tasks
        (task_id, status, enqueued_at, claimed_at, finished_at, claim_id, worker_id, run_no, retry_count, crash_count,
         error_code, error)
      select task_id, 'EXPIRED', enqueued_at, claimed_at, statement_timestamp(), claim_id, worker_id, run_no,
             retry_count, crash_count, 'TASK_EXPIRED', ${EXPIRED_ERROR}
        from mine
       where is_late
      returning task_id
    ), started as (
      update ${schema}.active_tasks as active
         set started_at = statement_timestamp(), run_no = active.run_no + 1, claim_expires_at = null
       where task_id = any (array(select task_id from mine where not is_late))
      returning active.task_id, active.run_no
    )
    select task_id as "id", run_no as "runNo" from started
    union all
    select task_id, null from expired`);

  return async (
    db: Db,
    claims: readonly { readonly id: string; readonly claimId: string }[],
  ): Promise<StartReply> => {
    const inOrder = [...claims].sort((a, b) => (a.id < b.id ? -1 : 1));
    const rows = await db.query<{ id: string; runNo: number | null }>(START, [
      inOrder.map((claim) => claim.id),
      inOrder.map((claim) => claim.claimId),
    ]);
    return {
      started: rows.flatMap(({ id, runNo }) => (runNo === null ? [] : [{ id, runNo }])),
      expired: rows.flatMap(({ id, runNo }) => (runNo === null ? [id] : [])),
    };
  };
}
