import { sql, statement, uuidArray, type Db, type SqlText } from "../../sql.ts";

/** See retry_task() in functions/operators.sql. Null: there is no such task. */
export type RetryAnswer = "retried" | "unfinished" | "completed" | "late" | "node" | null;

export interface RetriedTask {
  readonly id: string;
  readonly answer: RetryAnswer;
}

/** Runs ended tasks again, in one transaction. The rule is the SQL function's, so that psql and an app retry alike. */
export function retryTasks(schema: SqlText) {
  const RETRY = statement(sql`
    select id as "id", answer as "answer" from ${schema}.retry_tasks($1::uuid[], $2::timestamptz, $3::bigint)`);

  return (
    db: Db,
    request: {
      readonly ids: readonly string[];
      readonly goodUntil: Date | null;
      readonly action: string;
    },
  ): Promise<RetriedTask[]> =>
    db.query<RetriedTask>(RETRY, [uuidArray(request.ids), request.goodUntil, request.action]);
}
