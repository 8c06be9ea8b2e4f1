import { sql, statement, type Db, type SqlText } from "../../sql.ts";

export interface MovedLane {
  readonly queue: string;
  readonly priority: number;
}

/**
 * For tests: moves every waiting task `ms` into the past, so that its due time and its deadline are that much nearer. To be run
 * in one transaction. Returns the lanes in which something moved.
 *
 * A row that was never claimed is found by the place that its submission names, so the two move together. Ready rows are
 * never updated: a claim deletes them by ctid, and would miss the new version. So they are deleted and inserted, while the
 * lock keeps claims, sends and cancellations out. Tasks that run are left alone.
 */
export function advanceTasks(schema: SqlText) {
  // An open transaction of the test itself would be waited for in vain.
  const PATIENCE = statement(sql`set local lock_timeout = '3s'`);

  const LOCK = statement(sql`lock table ${schema}.ready_tasks in exclusive mode`);

  const ADVANCE = statement(sql`
    with gone as (
      delete from ${schema}.ready_tasks returning *
    ), sent as (
      update ${schema}.submissions
         set sent_at = sent_at - $1::float8 * interval '1 millisecond',
             run_at = run_at - $1::float8 * interval '1 millisecond',
             good_until = good_until - $1::float8 * interval '1 millisecond'
       where task_id in (select task_id from gone)
    ), moved as (
      insert into ${schema}.ready_tasks
        (task_id, queue, priority, enqueued_at, good_until, attempt_no, retry_count, crash_count)
      select task_id, queue, priority, enqueued_at - $1::float8 * interval '1 millisecond',
             good_until - $1::float8 * interval '1 millisecond', attempt_no, retry_count, crash_count
        from gone
      returning queue, priority
    )
    select distinct queue as "queue", priority as "priority" from moved`);

  return async (db: Db, ms: number): Promise<MovedLane[]> => {
    await db.query(PATIENCE);
    await db.query(LOCK);
    return db.query<MovedLane>(ADVANCE, [ms]);
  };
}
