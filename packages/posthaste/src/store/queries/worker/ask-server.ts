/** Questions about the server and its sessions. */
import { sql, statement, type Db, type SqlText } from "../../sql.ts";

export interface RecentStart {
  readonly reason: "server started" | "server promoted";
  /** When the threshold has passed. Null: no worker has connected since the promotion. */
  readonly until: Date | null;
}

/** Whether the server has started, or was promoted, so recently that silence must not be judged by this threshold. */
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

const PING = statement(sql`select`);

export async function ping(db: Db): Promise<void> {
  await db.query(PING);
}

const NOW = statement(sql`select date_part('epoch', clock_timestamp()) * 1000 as "now"`);

/** The server's clock, in milliseconds since 1970. */
export async function readClock(db: Db): Promise<number> {
  const [row] = await db.query<{ now: number }>(NOW);
  return row?.now ?? Number.NaN;
}

/** Tasks that a maintenance round could have to do with. */
export interface OpenTasks {
  /** Some task is claimed or running. */
  readonly active: boolean;
  /** Some task is waiting. */
  readonly waiting: boolean;
}

/** Two short scans: both tables are vacuumed after a few thousand dead rows. */
export function findOpenTasks(schema: SqlText) {
  const FIND = statement(sql`
    select exists (select from ${schema}.active_tasks) as "active", exists (select from ${schema}.ready_tasks) as "waiting"`);

  return async (db: Db): Promise<OpenTasks> => {
    const [row] = await db.query<OpenTasks>(FIND);
    return row ?? { active: true, waiting: true };
  };
}

// Sessions of another role show no state: then nothing is known. Idle for a moment only: it may be about to answer.
const IS_IDLE = statement(sql`
  select coalesce(bool_and(coalesce(state like 'idle%' and state_change < clock_timestamp() - interval '1 second', false)),
                  true) as "isIdle"
    from pg_stat_activity where pid = $1`);

/** Whether the session with this process id waits for its client, or is gone. */
export async function isBackendIdle(db: Db, pid: number): Promise<boolean> {
  const [row] = await db.query<{ isIdle: boolean }>(IS_IDLE, [pid]);
  return row?.isIdle ?? false;
}
