import { sql, statement, type Db, type SqlText } from "../sql.ts";

export interface Claim {
  readonly id: string;
  readonly claimId: string;
}

/**
 * What has become of a completion inside somebody's transaction.
 *  - committed: the task is done.
 *  - open: that transaction has not ended.
 *  - undone: it was rolled back, and the claim is held as before.
 *  - lost: the claim is not ours any more.
 */
export type CompletionFate = "committed" | "open" | "undone" | "lost";

/** A completion that commits together with what user code writes. Runs in user code's transaction, with its settings. */
export function completeWithEffects(schema: SqlText) {
  // The fence move: the last statement before the commit, so that the row is locked for that long only. A task whose
  // cancellation was requested is not completed: its effects must not happen. Served by active_tasks_id_idx.
  const COMPLETE = statement(sql`
    with gone as (
      delete from ${schema}.active_tasks
       where task_id = $1::uuid and claim_id = $2::uuid and started_at is not null and cancel_requested_at is null
      returning *
    )
    insert into ${schema}.finished_tasks
      (task_id, enqueued_at, claimed_at, started_at, finished_at, claim_id, worker_id, run_no, retry_count, crash_count,
       result)
    select task_id, enqueued_at, claimed_at, started_at, clock_timestamp(), claim_id, worker_id, run_no, retry_count,
           crash_count, $3::text::jsonb
      from gone
    returning task_id`);

  const IS_CANCELLED = statement(sql`
    select cancel_requested_at is not null as "isCancelled"
      from ${schema}.active_tasks where task_id = $1::uuid and claim_id = $2::uuid`);

  // A row that can be locked is held by no other transaction. Neither locked nor done: it is being moved at this moment.
  const FATE = statement(sql`
    with free as materialized (
      select task_id from ${schema}.active_tasks
       where task_id = $1::uuid and claim_id = $2::uuid
         for update skip locked
    )
    select case when exists (select from ${schema}.finished_tasks where task_id = $1::uuid and claim_id = $2::uuid)
                then 'committed'
                when exists (select from free) then 'undone'
                when exists (select from ${schema}.active_tasks where task_id = $1::uuid and claim_id = $2::uuid)
                then 'open'
                else 'lost' end as "fate"`);

  return {
    /** "done", unless the claim may not be completed any more. `result` is JSON text. */
    async complete(
      db: Db,
      { id, claimId }: Claim,
      result: string,
    ): Promise<"done" | "cancelled" | "lost"> {
      const done = await db.query(COMPLETE, [id, claimId, result]);
      if (done.length > 0) return "done";
      const [held] = await db.query<{ isCancelled: boolean }>(IS_CANCELLED, [id, claimId]);
      return held?.isCancelled === true ? "cancelled" : "lost";
    },
    async fate(db: Db, { id, claimId }: Claim): Promise<CompletionFate> {
      const [row] = await db.query<{ fate: CompletionFate }>(FATE, [id, claimId]);
      return row?.fate ?? "lost";
    },
  };
}
