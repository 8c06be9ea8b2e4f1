/** Facts for a live view, read every second or so: each statement costs the same however many tasks there are. */
import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** Counted by the server's statistics since they were reset, so only differences mean something. */
export interface ActivityCounters {
  /** Milliseconds since 1970, by the server's clock. */
  readonly at: number;
  readonly sent: number;
  readonly ended: number;
}

export interface FailedTask {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly errorCode: string | null;
  readonly message: string | null;
  readonly attempts: number;
  readonly failedAt: Date;
}

export interface WorkerSample {
  readonly workerId: string;
  readonly takenAt: Date;
  /** The longest delay of the event loop since the sample before. */
  readonly loopLagMs: number;
  readonly cpuPercent: number;
  readonly rssBytes: number;
}

/** Failures are looked for among so many of the latest ids. */
const WINDOW = sql`5000`;

export function readActivity(schema: SqlText) {
  const COUNTERS = statement(sql`
    select date_part('epoch', clock_timestamp()) * 1000 as "at",
           coalesce(sum(n_tup_ins) filter (where relname = 'submissions'), 0)::float8 as "sent",
           coalesce(sum(n_tup_ins) filter (where relname = 'finished_tasks'), 0)::float8 as "ended"
      from pg_stat_user_tables where schemaname = $1 and relname in ('submissions', 'finished_tasks')`);

  // finished_tasks_id_idx from its end, then submissions_pkey for the rows that are shown.
  const FAILURES = statement(sql`
    select failed.task_id as "id", sent.name as "name", sent.queue as "queue", failed.error_code as "errorCode",
           failed.error ->> 'message' as "message", coalesce(failed.attempt_no, 1) as "attempts", failed.finished_at as "failedAt"
      from (
        select * from (select * from ${schema}.finished_tasks order by task_id desc limit ${WINDOW}) as latest
         where status = 'FAILED' order by finished_at desc limit $1
      ) as failed
      join ${schema}.submissions as sent using (task_id)
     order by failed.finished_at desc`);

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
    failures: (db: Db, limit: number): Promise<FailedTask[]> =>
      db.query<FailedTask>(FAILURES, [limit]),
    samples: (db: Db): Promise<WorkerSample[]> => db.query<WorkerSample>(SAMPLES),
  };
}
