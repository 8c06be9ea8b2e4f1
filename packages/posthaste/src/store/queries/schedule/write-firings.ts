import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import { instantText, type ScheduleState } from "./schedule-rows.ts";

/** A slot that fired or was skipped. */
export interface FiringRow {
  readonly schedule: string;
  readonly slot: number;
  readonly taskId: string | null;
  readonly runId: string | null;
  readonly skipped: "missed" | "overlap" | null;
  /** The first of several missed slots that this row stands for. */
  readonly firstSlot: number | null;
  readonly triggered: boolean;
}

/** A schedule's new state, and the slot on which it was decided. */
export interface ScheduleMove extends ScheduleState {
  readonly name: string;
  readonly readSlot: number | null;
}

/** Writes firings and moves their schedules, whose rows the caller has locked. */
export function writeFirings(schema: SqlText) {
  const INSERT = statement(sql`
    insert into ${schema}.schedule_firings
           (schedule, slot, fired_at, task_id, run_id, skipped, first_slot, triggered)
    select schedule, slot, coalesce($1::timestamptz, statement_timestamp()), task_id, run_id, skipped, first_slot, triggered
      from jsonb_to_recordset($2::jsonb) as fired
           (schedule text, slot timestamptz, task_id uuid, run_id uuid, skipped text, first_slot timestamptz,
            triggered boolean)
     order by schedule collate "C", slot
        on conflict do nothing
    returning schedule as "schedule", round(extract(epoch from slot) * 1000)::float8 as "slot"`);

  // Served by the primary key. The rows are locked; the condition on the slot that was read guards against a caller that has not locked.
  const MOVE = statement(sql`
    update ${schema}.schedules as schedule
       set next_slot = moved.next_slot, due_at = moved.due_at, buffered_slot = moved.buffered_slot,
           paused_at = moved.paused_at, paused_by = moved.paused_by, failures = moved.failures,
           last_error = moved.last_error, last_slot = moved.last_slot, last_fired_at = moved.last_fired_at,
           last_task_id = moved.last_task_id, last_run_id = moved.last_run_id
      from jsonb_to_recordset($1::jsonb) as moved
           (name text, read_slot timestamptz, next_slot timestamptz, due_at timestamptz, buffered_slot timestamptz,
            paused_at timestamptz, paused_by text, failures integer, last_error text, last_slot timestamptz,
            last_fired_at timestamptz, last_task_id uuid, last_run_id uuid)
     where schedule.name = moved.name and date_trunc('milliseconds', schedule.next_slot) is not distinct from moved.read_slot
    returning schedule.name as "name"`);

  return {
    /** Returns the keys (`firingKey`) of the slots that had no row yet: only these fire. */
    async insert(
      db: Db,
      now: number | null,
      firings: readonly FiringRow[],
    ): Promise<ReadonlySet<string>> {
      const rows = firings.map((firing) => ({
        schedule: firing.schedule,
        slot: instantText(firing.slot),
        task_id: firing.taskId,
        run_id: firing.runId,
        skipped: firing.skipped,
        first_slot: instantText(firing.firstSlot),
        triggered: firing.triggered,
      }));
      const inserted = await db.query<FiringKey>(INSERT, [instantText(now), JSON.stringify(rows)]);
      return new Set(inserted.map(firingKey));
    },
    async move(db: Db, moves: readonly ScheduleMove[]): Promise<void> {
      const rows = moves.map((move) => ({
        name: move.name,
        read_slot: instantText(move.readSlot),
        next_slot: instantText(move.nextSlot),
        due_at: instantText(move.dueAt),
        buffered_slot: instantText(move.bufferedSlot),
        paused_at: instantText(move.pausedAt),
        paused_by: move.pausedBy,
        failures: move.failures,
        last_error: move.lastError,
        last_slot: instantText(move.lastSlot),
        last_fired_at: instantText(move.lastFiredAt),
        last_task_id: move.lastTaskId,
        last_run_id: move.lastRunId,
      }));
      const moved = await db.query(MOVE, [JSON.stringify(rows)]);
      if (moved.length !== moves.length) throw new Error("a schedule moved without its lock");
    },
  };
}

interface FiringKey {
  readonly schedule: string;
  readonly slot: number;
}

export function firingKey({ schedule, slot }: FiringKey): string {
  return `${slot} ${schedule}`;
}
