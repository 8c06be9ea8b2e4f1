import { sql, statement, uuidArray, type Db, type SqlText } from "../../sql.ts";

export interface ProgressReport {
  readonly id: string;
  readonly claimId: string;
  /** JSON text. */
  readonly value: string;
}

export function reportProgress(schema: SqlText) {
  // Fenced by claim_id, served by active_tasks_id_idx and finished_tasks_id_idx. KEY SHARE keeps the row from being ended
  // until the commit, and gets along with heartbeats; a row that is being ended at this moment is left out. A claim that
  // has written its own end may still have its last word.
  const WRITE = statement(sql`
    insert into ${schema}.progress as known (task_id, attempt_no, updated_at, value)
    with given as materialized (
      select id, claim from unnest($1::uuid[], $2::uuid[]) as given (id, claim)
    ), held as materialized (
      select active.task_id, active.attempt_no
        from given
       cross join lateral (
         select task_id, coalesce(attempt_no, 1) as attempt_no from ${schema}.active_tasks
          where task_id = given.id and claim_id = given.claim and started_at is not null
            for key share skip locked
       ) as active
      union all
      select given.id, finished.attempt_no
        from given
       cross join lateral (
         select coalesce(attempt_no, 1) as attempt_no
           from ${schema}.finished_tasks where task_id = given.id and claim_id = given.claim limit 1
       ) as finished
    )
    select task_id, attempt_no, statement_timestamp(), $3::jsonb -> task_id::text from held
    on conflict (task_id) do update
       set attempt_no = excluded.attempt_no, updated_at = excluded.updated_at, value = excluded.value`);

  const READ = statement(sql`select value as "value" from ${schema}.progress where task_id = $1`);

  return {
    /** One report a task at most; in the order of their ids, so that two writers never wait for each other. */
    async write(db: Db, reports: readonly ProgressReport[]): Promise<void> {
      const inOrder = [...reports].sort((a, b) => (a.id < b.id ? -1 : 1));
      await db.query(WRITE, [
        uuidArray(inOrder.map(({ id }) => id)),
        uuidArray(inOrder.map(({ claimId }) => claimId)),
        `{${inOrder.map(({ id, value }) => `"${id}":${value}`).join(",")}}`,
      ]);
    },
    /** JSON text, or undefined without a report. */
    async read(db: Db, id: string): Promise<string | undefined> {
      const [row] = await db.query<{ value: string }>(READ, [id]);
      return row?.value;
    },
  };
}
