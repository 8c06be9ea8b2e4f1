import { lockKey } from "../../lock-keys.ts";
import { sql, statement, type Db, type SqlText } from "../../sql.ts";

export interface Idle {
  readonly thresholdMs: number;
  /** The worker that sweeps; null: none does. */
  readonly exceptId: string | null;
  /** Judges at once, even though the server has started or was promoted a moment ago. */
  readonly isForced: boolean;
}

/** The rows of silent workers. recover-tasks.ts handles their tasks. */
export function sweepWorkers(schemaName: string, schema: SqlText) {
  // By schema: sweeps of two schemas in one database do not know each other.
  const KEY = lockKey(`${schemaName}/sweep`);
  const TRY_LOCK = statement(sql`select pg_try_advisory_xact_lock($1::bigint) as "isMine"`);

  // A worker that still has a task is left for the next sweep: the task was skipped, is resilient and has more time, or was claimed at
  // this moment. For one threshold after a start or promotion of the server no worker counts as silent.
  const IS_OVER = sql`
    worker.state in ('running', 'stopping') and worker.worker_id is distinct from $2::uuid
    and worker.last_heartbeat_at < statement_timestamp() - $1::float8 * interval '1 millisecond'
    and ($3::boolean
         or (select ${schema}.up_since()) < statement_timestamp() - $1::float8 * interval '1 millisecond')
    and not exists (select from ${schema}.active_tasks as held where held.worker_id = worker.worker_id)`;

  const FIND = statement(sql`
    select worker.worker_id as "workerId" from ${schema}.workers as worker where ${IS_OVER} order by worker.worker_id`);

  // A locked row is being updated by a heartbeat. After a heartbeat that has committed meanwhile, the condition is checked again.
  const MARK = statement(sql`
    update ${schema}.workers as worker set state = 'dead', died_at = statement_timestamp()
     where worker.worker_id = any (array(
       select worker.worker_id from ${schema}.workers as worker
        where ${IS_OVER}
        order by worker.worker_id
          for update skip locked))
    returning worker.worker_id as "workerId"`);

  const ids = async (
    db: Db,
    text: typeof MARK,
    { thresholdMs, exceptId, isForced }: Idle,
  ): Promise<string[]> => {
    const rows = await db.query<{ workerId: string }>(text, [thresholdMs, exceptId, isForced]);
    return rows.map(({ workerId }) => workerId);
  };

  return {
    /** False: another sweep has the lock. Held until the end of the transaction. */
    async tryLock(db: Db): Promise<boolean> {
      const [row] = await db.query<{ isMine: boolean }>(TRY_LOCK, [KEY]);
      return row?.isMine ?? false;
    },
    findIdle: (db: Db, idle: Idle): Promise<string[]> => ids(db, FIND, idle),
    /** Final: a worker that comes back registers again. Returns the dead workers. */
    markIdle: (db: Db, idle: Idle): Promise<string[]> => ids(db, MARK, idle),
  };
}
