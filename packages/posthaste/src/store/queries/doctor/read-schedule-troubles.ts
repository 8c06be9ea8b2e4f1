import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import { instantText, IS_ORPHANED, NOW } from "../schedule/schedule-rows.ts";

export interface ScheduleTrouble {
  readonly name: string;
  /** It is in the code of no living process. */
  readonly isOrphaned: boolean;
  /** How long its slot has been due; null: it is not due. */
  readonly lateMs: number | null;
  readonly pausedBy: "code" | "operator" | "failures" | null;
  readonly lastError: string | null;
}

/** Reads the whole table, which has a row for each schedule. */
export function readScheduleTroubles(schema: SqlText) {
  const READ = statement(sql`
    select name as "name", ${IS_ORPHANED} as "isOrphaned", paused_by as "pausedBy", last_error as "lastError",
           case when due_at < ${NOW} then date_part('epoch', ${NOW} - due_at) * 1000 end as "lateMs"
      from ${schema}.schedules
     where paused_by = 'failures' or paused_at is null and (${IS_ORPHANED} or due_at < ${NOW})
     order by name`);

  return (db: Db): Promise<ScheduleTrouble[]> =>
    db.query<ScheduleTrouble>(READ, [instantText(null)]);
}
