import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import {
  instantText,
  IS_ORPHANED,
  NOW,
  SCHEDULE_COLUMNS,
  type ScheduleRow,
} from "./schedule-rows.ts";

export interface DueQuestion {
  /** Null: the database's clock. */
  readonly now: number | null;
  /** Only schedules that are late by this much. */
  readonly lateMs: number;
  /** Schedules that this process cannot fire. */
  readonly except: readonly string[];
  readonly most: number;
}

/** The last task or run of a schedule that has not ended. A task that was deleted has ended. */
export interface BusySchedule {
  readonly name: string;
  readonly taskId: string | null;
  readonly runId: string | null;
}

/**
 * Locks schedules whose slot is due, or whose buffered slot may fire. A locked row is being fired by another process. Whether their last
 * task has ended is asked in a statement of its own after the locks: one that was sent by another process meanwhile is invisible to
 * the snapshot that waited for the lock.
 */
export function lockSchedules(schema: SqlText) {
  // Served by schedules_due_idx, in its order.
  const LOCK_DUE = statement(sql`
    select ${SCHEDULE_COLUMNS} from ${schema}.schedules
     where due_at <= ${NOW} - $2::float8 * interval '1 millisecond' and paused_at is null
       and not ${IS_ORPHANED} and name <> all ($3::text[])
     order by due_at
     limit $4
       for update skip locked`);

  // Served by schedules_buffered_idx, and by primary keys.
  const LOCK_BUFFERED = statement(sql`
    select ${SCHEDULE_COLUMNS} from ${schema}.schedules as schedule
     where buffered_slot is not null and paused_at is null and not ${IS_ORPHANED}
       and not ${isBusy(schema)} and name <> all ($2::text[])
     order by name
     limit $3
       for update skip locked`);

  const LOCK_ONE = statement(sql`
    select ${SCHEDULE_COLUMNS} from ${schema}.schedules where name = $2 for update`);

  const BUSY = statement(sql`
    select name as "name", last_task_id as "taskId", last_run_id as "runId"
      from ${schema}.schedules as schedule
     where name = any ($1::text[]) and ${isBusy(schema)}`);

  return {
    due: (db: Db, { now, lateMs, except, most }: DueQuestion): Promise<ScheduleRow[]> =>
      db.query<ScheduleRow>(LOCK_DUE, [instantText(now), lateMs, except, most]),
    /** Those whose last task or run has ended. */
    buffered: (db: Db, { now, except, most }: DueQuestion): Promise<ScheduleRow[]> =>
      db.query<ScheduleRow>(LOCK_BUFFERED, [instantText(now), except, most]),
    /** Waits for the lock. */
    async one(db: Db, name: string, now: number | null = null): Promise<ScheduleRow | undefined> {
      const [row] = await db.query<ScheduleRow>(LOCK_ONE, [instantText(now), name]);
      return row;
    },
    busy: (db: Db, names: readonly string[]): Promise<BusySchedule[]> =>
      db.query<BusySchedule>(BUSY, [names]),
  };
}

/** Whether the last task or run of `schedule` has not ended. */
export function isBusy(schema: SqlText): SqlText {
  return sql`(
    exists (select from ${schema}.submissions where task_id = schedule.last_task_id)
      and not exists (select from ${schema}.finished_tasks where task_id = schedule.last_task_id)
    or exists (select from ${schema}.workflow_states
                where workflow_id = schedule.last_run_id and ended_at is null)
  )`;
}
