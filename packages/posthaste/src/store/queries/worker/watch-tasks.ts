import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** A task that keeps a test from being idle. */
export interface UnfinishedTask {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly status: string;
  readonly attemptNo: number;
}

/** A task of which something happened since a moment. */
export interface TouchedTask {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly attemptNo: number;
  /** JSON text, null unless it completed. */
  readonly result: string | null;
  /** JSON text: what ended it, or its last attempt. Null if it completed. */
  readonly error: string | null;
}

/** For the testing kit: waiting and ended tasks. No index serves these; the database of a test is small. */
export function watchTasks(schema: SqlText) {
  const NOW = statement(sql`select clock_timestamp()::text as "now"`);

  // Two tables, one snapshot: a task that moves between them is seen once.
  const UNFINISHED = statement(sql`
    select id as "id", name as "name", queue as "queue", status as "status", attempt_no as "attemptNo"
      from ${schema}.tasks
     where status in ('CLAIMED', 'RUNNING') or (status = 'PENDING' and enqueued_at <= clock_timestamp())
     order by sent_at, id`);

  const TOUCHED = statement(sql`
    select task.id as "id", task.name as "name", task.status as "status", task.attempt_no as "attemptNo",
           task.result as "result", case when task.status <> 'COMPLETED' then task.last_error end as "error"
      from ${schema}.tasks as task
      join (
        select task_id as id, min(coalesce(started_at, finished_at)) as at
          from (
            select task_id, started_at, finished_at from ${schema}.attempts
            union all
            select task_id, started_at, finished_at from ${schema}.finished_tasks
          ) as ended
         where finished_at >= $1::timestamptz
         group by task_id
      ) as touched using (id)
     order by touched.at, id`);

  return {
    /** The database's clock, for `touchedSince`. */
    async now(db: Db): Promise<string> {
      const [row] = await db.query<{ now: string }>(NOW);
      return row?.now ?? "infinity";
    },
    unfinished: (db: Db): Promise<UnfinishedTask[]> => db.query<UnfinishedTask>(UNFINISHED),
    /** In the order in which they began. */
    touchedSince: (db: Db, moment: string): Promise<TouchedTask[]> =>
      db.query<TouchedTask>(TOUCHED, [moment]),
  };
}
