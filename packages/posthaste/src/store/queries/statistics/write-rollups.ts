import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** The ends of one worker in a minute, of one task name in one queue. */
export interface Rollup {
  /** Epoch ms of the beginning of the minute, by the database's clock. Null: the present minute of the statement. */
  readonly minute: number | null;
  readonly name: string;
  readonly queue: string;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly expired: number;
  readonly retried: number;
  /** Counts by bucket of domain/histogram.ts. */
  readonly wait: readonly number[];
  readonly run: readonly number[];
}

/** Inserts only: rows of rollups are merged later, and never updated. */
export function writeRollups(schema: SqlText) {
  const WRITE = statement(sql`
    insert into ${schema}.rollups
      (starts_at, covers, worker_id, name, queue, completed, failed, cancelled, expired, retried, wait, run)
    select coalesce(to_timestamp(minute / 1000), date_trunc('minute', statement_timestamp())), 'part', $1, name, queue,
           completed, failed, cancelled, expired, retried, wait, run
      from jsonb_to_recordset($2::jsonb) as counted (
        minute float8, name text, queue text, completed integer, failed integer, cancelled integer, expired integer,
        retried integer, wait integer[], run integer[])`);

  const MERGE = statement(sql`select ${schema}.merge_rollups($1::int) as "merged"`);

  return {
    async write(db: Db, workerId: string, rollups: readonly Rollup[]): Promise<void> {
      await db.query(WRITE, [workerId, JSON.stringify(rollups)]);
    },
    /** Merges at most `most` rows of each kind. Returns how many rows were replaced. */
    async merge(db: Db, most: number): Promise<number> {
      const [row] = await db.query<{ merged: number }>(MERGE, [most]);
      return row?.merged ?? 0;
    },
  };
}
