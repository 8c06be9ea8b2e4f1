/** Facts for a live view, read every second or so: each statement costs the same however many tasks there are. */
import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** Counted by the server's statistics since they were reset, so only differences mean something. */
export interface ActivityCounters {
  /** Milliseconds since 1970, by the server's clock. */
  readonly at: number;
  readonly sent: number;
  readonly ended: number;
}

export interface WorkerSample {
  readonly workerId: string;
  readonly takenAt: Date;
  /** The longest delay of the event loop since the sample before. */
  readonly loopLagMs: number;
  readonly cpuPercent: number;
  readonly rssBytes: number;
}

export function readActivity(schema: SqlText) {
  const COUNTERS = statement(sql`
    select date_part('epoch', clock_timestamp()) * 1000 as "at",
           coalesce(sum(n_tup_ins) filter (where relname = 'submissions'), 0)::float8 as "sent",
           coalesce(sum(n_tup_ins) filter (where relname = 'finished_tasks'), 0)::float8 as "ended"
      from pg_stat_user_tables where schemaname = $1 and relname in ('submissions', 'finished_tasks')`);

  // worker_states_worker_idx, once for each living worker.
  const SAMPLES = statement(sql`
    select worker.worker_id as "workerId", latest.taken_at as "takenAt", latest.loop_lag_ms as "loopLagMs",
           latest.cpu_percent::float8 as "cpuPercent", latest.rss_bytes as "rssBytes"
      from ${schema}.workers as worker
     cross join lateral (
       select * from ${schema}.worker_states as sample
        where sample.worker_id = worker.worker_id order by sample.taken_at desc limit 1
     ) as latest
     where worker.state in ('running', 'stopping')`);

  return {
    async counters(db: Db, schemaName: string): Promise<ActivityCounters> {
      const [row] = await db.query<ActivityCounters>(COUNTERS, [schemaName]);
      return row ?? { at: 0, sent: 0, ended: 0 };
    },
    samples: (db: Db): Promise<WorkerSample[]> => db.query<WorkerSample>(SAMPLES),
  };
}
