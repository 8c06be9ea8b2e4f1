import { sql, type SqlText } from "../../sql.ts";

/**
 * The place of a task in its queue, from its submission: an active row has no queue and no priority of its own, and no due time unless
 * the task returned to its queue. Served by the primary key; the LIMIT keeps the planner from a scan. Use a left join: a task without a
 * submission must fail where it is needed, and not disappear.
 */
export function placeInQueue(schema: SqlText, taskId: SqlText): SqlText {
  return sql`(
         select submission.queue, submission.priority, coalesce(submission.run_at, submission.sent_at) as first_due_at
           from ${schema}.submissions as submission
          where submission.task_id = ${taskId}
          limit 1
       )`;
}
