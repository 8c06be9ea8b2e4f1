import { sql, statement, type Db, type SqlText } from "../sql.ts";

/**
 * Puts tasks back at their old place in the line whose worker fetched them ahead and did not renew its lease, or has not
 * vouched for them for longer than the threshold: nobody has begun them. Their owner finds its claims gone when it wants to start them. Rows that somebody has locked are being
 * started, renewed or ended, and are left out. It reads what is under way at this moment, now and then.
 */
export function releaseExpired(schema: SqlText) {
  const IS_OVER = sql`
    started_at is null and (claim_expires_at <= statement_timestamp()
      or coalesce(heartbeat_at, claimed_at) < statement_timestamp() - $1::float8 * interval '1 millisecond')`;

  const RELEASE = statement(sql`
    with gone as (
      delete from ${schema}.active_tasks
       where task_id = any (array(
         select task_id from ${schema}.active_tasks
          where ${IS_OVER}
          order by task_id
            for update skip locked))
         and ${IS_OVER}
      returning task_id, queue, priority, enqueued_at, good_until, run_no, retry_count, crash_count
    )
    insert into ${schema}.ready_tasks
      (task_id, queue, priority, enqueued_at, good_until, run_no, retry_count, crash_count)
    select task_id, queue, priority, enqueued_at, good_until, run_no, retry_count, crash_count from gone
    returning task_id as "id", queue as "queue", priority as "priority"`);

  /** @param thresholdMs null: only the lease counts */
  return (
    db: Db,
    thresholdMs: number | null,
  ): Promise<{ readonly id: string; readonly queue: string; readonly priority: number }[]> =>
    db.query(RELEASE, [thresholdMs]);
}
