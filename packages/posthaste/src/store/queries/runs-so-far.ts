import { sql, type SqlText } from "../sql.ts";

/** How many bodies of a task have started, from a row of active_tasks or finished_tasks: null stands for its first claim. */
export function runsSoFar(row: SqlText): SqlText {
  return sql`coalesce(${row}.attempt_no, (${row}.started_at is not null)::integer)`;
}
