import { sql, statement, type Db, type SqlText } from "../sql.ts";
import { EXPIRED_ERROR } from "./complete-tasks.ts";

/**
 * Ends PENDING tasks whose deadline has passed and that nobody claims: no worker serves their queue, or they are not
 * due before their deadline. Served by ready_tasks_deadline_idx; a bounded batch, skipping what a claim holds.
 */
export function expireTasks(schema: SqlText) {
  const EXPIRE = statement(sql`
    with gone as (
      delete from ${schema}.ready_tasks
       where ctid = any (array(
         select ctid from ${schema}.ready_tasks
          where good_until <= statement_timestamp()
          order by good_until
          limit $1
            for update skip locked))
      returning *
    )
    insert into ${schema}.finished_tasks
      (task_id, status, enqueued_at, finished_at, run_no, retry_count, crash_count, error_code, error)
    select task_id, 'EXPIRED', enqueued_at, statement_timestamp(), run_no, retry_count, crash_count, 'TASK_EXPIRED',
           ${EXPIRED_ERROR}
      from gone
    returning task_id as "id"`);

  return async (db: Db, limit: number): Promise<string[]> => {
    const rows = await db.query<{ id: string }>(EXPIRE, [limit]);
    return rows.map((row) => row.id);
  };
}
