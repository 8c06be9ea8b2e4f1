import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import { isBusy, type BusySchedule } from "./lock-schedules.ts";
import { instantText, IS_ORPHANED, NOW } from "./schedule-rows.ts";

export interface ScheduleLook {
  /** Until the first slot is due; null: there is none. */
  readonly dueInMs: number | null;
  /** Whether a buffered slot waits. */
  readonly hasBuffered: boolean;
  /** With a buffered slot, and to be cancelled for it. */
  readonly toCancel: readonly BusySchedule[];
  readonly orphaned: readonly string[];
}

/** For the scheduler: when to wake up, and what to report. One statement, every half minute where nothing is due. */
export function watchSchedules(schema: SqlText) {
  // The first by schedules_due_idx; buffered slots by schedules_buffered_idx; orphaned ones by a scan of a small table.
  const LOOK = statement(sql`
    select (select (extract(epoch from due_at - ${NOW}) * 1000)::float8 from ${schema}.schedules
             where due_at is not null and paused_at is null and not ${IS_ORPHANED} and name <> all ($2::text[])
             order by due_at limit 1) as "dueInMs",
           exists (select from ${schema}.schedules
                    where buffered_slot is not null and paused_at is null) as "hasBuffered",
           (select json_agg(json_build_object('name', name, 'taskId', last_task_id, 'runId', last_run_id))
              from ${schema}.schedules as schedule
             where buffered_slot is not null and paused_at is null and overlap = 'cancel'
               and ${isBusy(schema)}) as "toCancel",
           (select json_agg(name order by name) from ${schema}.schedules
             where paused_at is null and ${IS_ORPHANED}) as "orphaned"`);

  return async (db: Db, now: number | null, except: readonly string[]): Promise<ScheduleLook> => {
    const [row] = await db.query<{
      dueInMs: number | null;
      hasBuffered: boolean;
      toCancel: string | null;
      orphaned: string | null;
    }>(LOOK, [instantText(now), except]);
    return {
      dueInMs: row?.dueInMs ?? null,
      hasBuffered: row?.hasBuffered ?? false,
      toCancel: JSON.parse(row?.toCancel ?? "[]") as BusySchedule[],
      orphaned: JSON.parse(row?.orphaned ?? "[]") as string[],
    };
  };
}
