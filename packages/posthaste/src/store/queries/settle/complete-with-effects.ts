import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import type { Claim } from "../claim/stored-claims.ts";

/** Why a completion was refused. */
type NotCompleted = "cancelled" | "lost" | "ended";

/**
 * The fate of a completion inside a user's transaction.
 *  - committed: the task is done.
 *  - open: that transaction has not ended.
 *  - undone: it was rolled back, and the claim is valid as before.
 *  - lost: the claim belongs to another worker, or is gone.
 */
export type CompletionFate = "committed" | "open" | "undone" | "lost";

/** Tells a transaction from every other of its session: when it began, in microseconds. */
export const TRANSACTION_MARK = sql`(extract(epoch from transaction_timestamp()) * 1000000)::bigint::text`;

/** A completion that commits together with what user code writes. Runs in user code's transaction, with its settings. */
export function completeWithEffects(schema: SqlText) {
  // The fence move: the last statement before the commit, so that the row is locked for that long only. A task whose
  // cancellation was requested is not completed: its effects must not happen; nor is one whose handler has ended the
  // transaction that it was given ($4). Served by active_tasks_id_idx.
  const COMPLETE = statement(sql`
    with gone as (
      delete from ${schema}.active_tasks
       where task_id = $1::uuid and claim_id = $2::uuid and started_at is not null and cancel_requested_at is null
         and ($4::text is null or $4 = ${TRANSACTION_MARK})
      returning *
    )
    insert into ${schema}.finished_tasks
      (task_id, enqueued_at, claimed_at, started_at, finished_at, claim_id, worker_id, attempt_no, retry_count, crash_count,
       result)
    select task_id, enqueued_at, claimed_at, started_at, clock_timestamp(), claim_id, worker_id, attempt_no, retry_count,
           crash_count, $3::text::jsonb
      from gone
    returning task_id`);

  const WHY_NOT = statement(sql`
    select case when $3::text <> ${TRANSACTION_MARK} then 'ended'
                when cancel_requested_at is not null then 'cancelled' else 'lost' end as "answer"
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
    /**
     * "done", unless the claim may not be completed any more, or ("ended") the transaction is not the one with this mark.
     * `result` is JSON text.
     */
    async complete(
      db: Db,
      { id, claimId }: Claim,
      result: string,
      mark: string | null,
    ): Promise<"done" | NotCompleted> {
      const done = await db.query(COMPLETE, [id, claimId, result, mark]);
      if (done.length > 0) return "done";
      const [row] = await db.query<{ answer: NotCompleted }>(WHY_NOT, [id, claimId, mark]);
      return row?.answer ?? "lost";
    },
    async fate(db: Db, { id, claimId }: Claim): Promise<CompletionFate> {
      const [row] = await db.query<{ fate: CompletionFate }>(FATE, [id, claimId]);
      return row?.fate ?? "lost";
    },
  };
}
