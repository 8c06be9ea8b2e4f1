import { sql, statement, type Db } from "../sql.ts";

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
