import { sql, statement, type Db, type SqlText } from "../sql.ts";

export interface StoredResult {
  readonly id: string;
  readonly exists: boolean;
  /** Null while the task has not ended. */
  readonly status: string | null;
  /** JSON text. */
  readonly result: string | null;
  /** JSON text. */
  readonly error: string | null;
}

/**
 * Waiting for results without a race: a waiter registers, commits, and only then reads; a finisher commits, and only
 * then looks for waiters. Whichever comes second sees the other.
 */
export function awaitResults(schema: SqlText) {
  const REGISTER = statement(sql`
    insert into ${schema}.waiters (task_id, channel)
    select id, $2 from unnest($1::uuid[]) as wanted (id)
    on conflict do nothing`);

  const FORGET = statement(sql`delete from ${schema}.waiters where channel = $1`);

  // A client that died keeps its rows until here; one that still waits registers again before this age.
  const PRUNE = statement(sql`
    delete from ${schema}.waiters where created_at < clock_timestamp() - interval '1 day'`);

  const READ = statement(sql`
    select wanted.id as "id", submission.task_id is not null as "exists", finished.status as "status",
           finished.result as "result", finished.error as "error"
      from unnest($1::uuid[]) as wanted (id)
      left join ${schema}.finished_tasks as finished on finished.task_id = wanted.id
      left join ${schema}.submissions as submission on submission.task_id = wanted.id`);

  const NOTIFY = statement(sql`select ${schema}.notify_waiters($1::uuid[])`);

  return {
    async register(db: Db, ids: readonly string[], channel: string): Promise<void> {
      await db.query(REGISTER, [ids, channel]);
    },
    async forget(db: Db, channel: string): Promise<void> {
      await db.query(FORGET, [channel]);
    },
    async prune(db: Db): Promise<void> {
      await db.query(PRUNE);
    },
    read: (db: Db, ids: readonly string[]): Promise<StoredResult[]> =>
      db.query<StoredResult>(READ, [ids]),
    async notify(db: Db, ids: readonly string[]): Promise<void> {
      await db.query(NOTIFY, [ids]);
    },
  };
}
