import { sql, statement, type Db, type SqlText } from "../sql.ts";

export interface RecentStart {
  readonly reason: "server started" | "server promoted";
  /** When the threshold has passed. Null: no worker has connected since the promotion. */
  readonly until: Date | null;
}

/** Whether the server has started, or was promoted, so recently that nobody's silence is judged by this threshold. */
export function readServerStart(schema: SqlText) {
  // Up since the start of the server or, if a worker noted a later one, since its promotion.
  const READ = statement(sql`
    select case when up.since = pg_postmaster_start_time() then 'server started' else 'server promoted' end as "reason",
           up.since + $1::float8 * interval '1 millisecond' as "until"
      from (select ${schema}.up_since() as since) as up
     where coalesce(up.since >= statement_timestamp() - $1::float8 * interval '1 millisecond', true)`);

  return async (db: Db, thresholdMs: number): Promise<RecentStart | null> => {
    const [start] = await db.query<RecentStart>(READ, [thresholdMs]);
    return start ?? null;
  };
}
