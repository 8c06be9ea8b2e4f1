import { sql, type SqlText } from "../sql.ts";

/**
 * Where a task stands in line, as its submission says: what is under way has no queue and no priority of its own, and no
 * due time unless it came back. Served by the primary key; the LIMIT keeps the planner from turning it round. To be joined
 * from the left: a task without it must fail where it is needed, and not get lost.
 */
export function placeInLine(schema: SqlText, taskId: SqlText): SqlText {
  return sql`(
         select submission.queue, submission.priority, coalesce(submission.run_at, submission.sent_at) as first_due_at
           from ${schema}.submissions as submission
          where submission.task_id = ${taskId}
          limit 1
       )`;
}
