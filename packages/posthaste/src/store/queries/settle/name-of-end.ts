import { sql, type SqlText } from "../../sql.ts";

/**
 * The name and queue that an end other than COMPLETED stores, for lists of such ends: of the rows for which `isStored` holds. PostgreSQL
 * checks the condition first, so that a completed task pays no look-up. Use a left join lateral. Served by the primary key.
 */
export function nameOfEnd(
  schema: SqlText,
  taskId: SqlText,
  isStored: SqlText = sql`true`,
): SqlText {
  return sql`(
         select submission.name, submission.queue
           from ${schema}.submissions as submission
          where ${isStored} and submission.task_id = ${taskId}
          limit 1
       )`;
}
