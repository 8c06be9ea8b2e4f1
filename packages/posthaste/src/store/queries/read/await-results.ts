import { sql, statement, uuidArray, type Db, type SqlText } from "../../sql.ts";

export interface StoredResult {
  readonly id: string;
  readonly exists: boolean;
  /** Null while the task, or the run, has not ended. */
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

  // None of these three waits for a row that notify_waiters() has locked, nor the reverse: a client that left while a worker notified it
  // deadlocked with the worker. Waiters are never updated, so a ctid stays valid.
  const FORGET = statement(sql`
    delete from ${schema}.waiters
     where ctid = any (array(
       select ctid from ${schema}.waiters where channel = $1 for update skip locked))`);

  const UNREGISTER = statement(sql`
    delete from ${schema}.waiters
     where ctid = any (array(
       select ctid from ${schema}.waiters where task_id = any ($1::uuid[]) and channel = $2
          for update skip locked))`);

  // A client that died keeps its rows until here; one that still waits registers again at its next poll.
  const PRUNE = statement(sql`
    delete from ${schema}.waiters
     where ctid = any (array(
       select ctid from ${schema}.waiters where created_at < clock_timestamp() - interval '1 day'
          for update skip locked))`);

  // Looked up row by row: written as joins, a plan from an emptier moment read both tables from end to end (40 ms at
  // 50,000 rows).
  const READ = statement(sql`
    select wanted.id as "id", submission.task_id is not null as "exists", finished.status as "status",
           finished.result as "result", finished.error as "error"
      from unnest($1::uuid[]) as wanted (id)
      left join lateral (
        select coalesce(status, 'COMPLETED') as status, result, error
          from ${schema}.finished_tasks where task_id = wanted.id limit 1
      ) as finished on true
      left join lateral (
        select task_id from ${schema}.submissions where task_id = wanted.id limit 1
      ) as submission on true`);

  // Runs are waited for as tasks are, by their ids.
  const READ_RUNS = statement(sql`
    select wanted.id as "id", state.workflow_id is not null as "exists",
           case when state.ended_at is not null then state.status end as "status", state.result as "result",
           case when state.ended_at is not null then state.error end as "error"
      from unnest($1::uuid[]) as wanted (id)
      left join lateral (
        select workflow_id, ended_at, status, result, error from ${schema}.workflow_states
         where workflow_id = wanted.id limit 1
      ) as state on true`);

  // Most tasks have no waiter, and this runs after every commit of a worker. By id: a check for any waiters at all would be cheaper, but it
  // reads the index entries of all waiters that have left since the last vacuum.
  const NOTIFY = statement(sql`
    select ${schema}.notify_waiters($1::uuid[])
     where exists (select from ${schema}.waiters where task_id = any ($1::uuid[]))`);

  return {
    async register(db: Db, ids: readonly string[], channel: string): Promise<void> {
      await db.query(REGISTER, [ids, channel]);
    },
    async unregister(db: Db, ids: readonly string[], channel: string): Promise<void> {
      await db.query(UNREGISTER, [ids, channel]);
    },
    async forget(db: Db, channel: string): Promise<void> {
      await db.query(FORGET, [channel]);
    },
    async prune(db: Db): Promise<void> {
      await db.query(PRUNE);
    },
    read: (db: Db, ids: readonly string[]): Promise<StoredResult[]> =>
      db.query<StoredResult>(READ, [ids]),
    readRuns: (db: Db, ids: readonly string[]): Promise<StoredResult[]> =>
      db.query<StoredResult>(READ_RUNS, [ids]),
    async notify(db: Db, ids: readonly string[]): Promise<void> {
      await db.query(NOTIFY, [uuidArray(ids)]);
    },
  };
}
