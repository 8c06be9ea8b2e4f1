import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import type { TaskConditions } from "./list-tasks.ts";

/** Conditions on the tasks of one action. */
export interface MatchConditions extends TaskConditions {
  readonly status?: string | undefined;
}

/**
 * The ids of all tasks on which an action on several tasks works, in id order: read once, in one snapshot, before the action begins.
 * A task that moves afterwards is skipped by the statement that would change it.
 *
 * For operators: it reads all ends other than COMPLETED (through finished_tasks_ended_idx), or all waiting and active tasks, and the
 * submission of each.
 */
export function matchTasks(schema: SqlText) {
  const value = (field: string): SqlText => sql`($1::jsonb ->> ${`'${field}'` as SqlText})`;
  const matches = (field: string, column: SqlText): SqlText =>
    sql`(${value(field)} is null or ${column} = ${value(field)})`;
  const matchesTime = (instant: SqlText): SqlText => sql`(
    (${value("since")} is null or ${instant} >= ${value("since")}::timestamptz)
    and (${value("until")} is null or ${instant} < ${value("until")}::timestamptz))`;
  const ofWorker = (workerId: SqlText): SqlText => sql`(
    ${value("worker")} is null or ${workerId}::text = ${value("worker")}
    or ${workerId} = any (array(select worker_id from ${schema}.workers where name = ${value("worker")})))`;
  const sent = (taskId: SqlText): SqlText => sql`(
    select name, queue, key, sent_at, workflow_id from ${schema}.submissions where task_id = ${taskId} limit 1)`;
  const matchesSent = sql`${matches("name", sql`sent.name`)} and ${matches("queue", sql`sent.queue`)}
         and ${matches("key", sql`sent.key`)}`;

  // A node is started over by its run.
  const ENDED = statement(sql`
    select ended.task_id as "id"
      from ${schema}.finished_tasks as ended
     cross join lateral ${sent(sql`ended.task_id`)} as sent
     where ended.status is not null and ended.status in ('FAILED', 'CANCELLED', 'EXPIRED')
       and ${matches("status", sql`ended.status`)} and ${matches("errorCode", sql`ended.error_code`)}
       and ${matchesTime(sql`ended.finished_at`)} and ${ofWorker(sql`ended.worker_id`)}
       and sent.workflow_id is null and ${matchesSent}
     order by ended.task_id`);

  const OPEN = statement(sql`
    select task.task_id as "id"
      from (
        select task_id, 'PENDING' as status, null::uuid as worker_id from ${schema}.ready_tasks
        union all
        select task_id, case when started_at is null then 'CLAIMED' else 'RUNNING' end, worker_id
          from ${schema}.active_tasks
      ) as task
     cross join lateral ${sent(sql`task.task_id`)} as sent
     where ${matches("status", sql`task.status`)} and ${ofWorker(sql`task.worker_id`)}
       and ${matchesTime(sql`sent.sent_at`)} and ${matchesSent}
     order by task.task_id`);

  const find =
    (asked: typeof ENDED) =>
    async (db: Db, conditions: MatchConditions): Promise<string[]> => {
      const rows = await db.query<{ id: string }>(asked, [JSON.stringify(conditions)]);
      return rows.map(({ id }) => id);
    };

  return {
    /** Tasks that ended other than COMPLETED, and are no nodes. */
    ended: find(ENDED),
    /** Tasks that have not ended. */
    open: find(OPEN),
  };
}
