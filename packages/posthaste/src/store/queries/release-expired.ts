import { sql, statement, type Db, type SqlText } from "../sql.ts";

/**
 * Puts tasks back at their old place in the line whose worker fetched them ahead and did not renew its lease: nobody has
 * begun them. Their owner finds its claims gone when it wants to start them. Rows that somebody has locked are being
 * started, renewed or ended, and are left out. It reads what is under way at this moment, now and then.
 */
export function releaseExpired(schema: SqlText) {
  const RELEASE = statement(sql`
    with gone as (
      delete from ${schema}.active_tasks
       where task_id = any (array(
         select task_id from ${schema}.active_tasks
          where started_at is null and claim_expires_at <= statement_timestamp()
          order by task_id
            for update skip locked))
         and started_at is null and claim_expires_at <= statement_timestamp()
      returning task_id, queue, priority, enqueued_at, good_until, run_no, retry_count, crash_count
    )
    insert into ${schema}.ready_tasks
      (task_id, queue, priority, enqueued_at, good_until, run_no, retry_count, crash_count)
    select task_id, queue, priority, enqueued_at, good_until, run_no, retry_count, crash_count from gone
    returning task_id as "id", queue as "queue", priority as "priority"`);

  return (
    db: Db,
  ): Promise<{ readonly id: string; readonly queue: string; readonly priority: number }[]> =>
    db.query(RELEASE);
}
