import { sql, statement, uuidArray, type Db, type SqlText } from "../../sql.ts";

export interface DescribedTask {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
}

/** Names and queues of tasks. Served by the primary key of submissions. */
export function describeTasks(schema: SqlText) {
  const DESCRIBE = statement(sql`
    select task_id as "id", name as "name", queue as "queue"
      from ${schema}.submissions
     where task_id = any ($1::uuid[])`);

  return (db: Db, ids: readonly string[]): Promise<DescribedTask[]> =>
    db.query<DescribedTask>(DESCRIBE, [uuidArray(ids)]);
}
