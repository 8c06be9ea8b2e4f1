import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import { isNode } from "../claim/claim-rows.ts";
import { EXPIRED_ERROR } from "../settle/complete-tasks.ts";
import { nameOfEnd } from "../settle/name-of-end.ts";
import { countEnds } from "../statistics/count-ends.ts";

/**
 * Ends PENDING tasks whose deadline has passed: no worker serves their queue, or they are due after their deadline. Served by
 * ready_tasks_deadline_idx; a bounded batch that skips locked rows. expireNodes ends nodes.
 */
export function expireTasks(schema: SqlText) {
  const EXPIRE = statement(sql`
    with gone as (
      delete from ${schema}.ready_tasks
       where ctid = any (array(
         select ctid from ${schema}.ready_tasks as ready
          where good_until <= statement_timestamp() and not ${isNode(schema, sql`ready.task_id`)}
          order by good_until
          limit $1
            for update skip locked))
      returning *
    ), ${endSteps(schema)}
    select task_id as "id" from ended`);

  return async (db: Db, limit: number): Promise<string[]> => {
    const rows = await db.query<{ id: string }>(EXPIRE, [limit]);
    return rows.map((row) => row.id);
  };
}

/** The same for nodes of runs: found first and ended then, with the lock of their run in between (workflows/move-nodes.ts). */
export function expireNodes(schema: SqlText) {
  const FIND = statement(sql`
    select ready.task_id as "id" from ${schema}.ready_tasks as ready
     where good_until <= statement_timestamp() and ${isNode(schema, sql`ready.task_id`)}
     order by good_until
     limit $1`);

  const EXPIRE = statement(sql`
    with gone as (
      delete from ${schema}.ready_tasks
       where ctid = any (array(select ${schema}.ready_row(late.id) from unnest($1::uuid[]) as late (id)))
         and good_until <= statement_timestamp()
      returning *
    ), ${endSteps(schema)}
    select task_id as "id" from ended`);

  return {
    async find(db: Db, limit: number): Promise<string[]> {
      const rows = await db.query<{ id: string }>(FIND, [limit]);
      return rows.map((row) => row.id);
    },
    /** Ends the tasks among these that still wait and are still late. */
    async end(db: Db, taskIds: readonly string[]): Promise<string[]> {
      const rows = await db.query<{ id: string }>(EXPIRE, [taskIds]);
      return rows.map((row) => row.id);
    },
  };
}

function endSteps(schema: SqlText): SqlText {
  return sql`ended as (
    insert into ${schema}.finished_tasks
      (task_id, status, enqueued_at, finished_at, attempt_no, retry_count, crash_count, error_code, error, name, queue)
    select gone.task_id, 'EXPIRED', enqueued_at, statement_timestamp(), attempt_no, retry_count, crash_count, 'TASK_EXPIRED',
           ${EXPIRED_ERROR}, named.name, named.queue
      from gone
      left join lateral ${nameOfEnd(schema, sql`gone.task_id`)} as named on true
    returning task_id, name, queue, status
    ), counted as (${countEnds(schema, sql`ended`)}
    )`;
}
