/** A schedule as it is stored: what code or an operator wrote, and the state that firings move. */
import { sql, type SqlText } from "../../sql.ts";

/** Written by code at every start, or by an operator. Instants are milliseconds of UTC. */
export interface ScheduleDefinition {
  readonly name: string;
  readonly task: string | null;
  readonly workflow: string | null;
  /** JSON text. */
  readonly input: string;
  /** JSON text: how the task is sent by a process without its definition. */
  readonly submission: string | null;
  readonly graphId: number | null;
  /** JSON text. */
  readonly pattern: string;
  readonly timezone: string;
  readonly missed: string;
  readonly maxMissed: number;
  readonly overlap: string;
  readonly jitterMs: number;
  readonly startAt: number | null;
  readonly endAt: number | null;
}

/** Moved by firings and by operators. */
export interface ScheduleState {
  readonly nextSlot: number | null;
  readonly dueAt: number | null;
  readonly bufferedSlot: number | null;
  readonly pausedAt: number | null;
  readonly pausedBy: "code" | "operator" | "failures" | null;
  readonly failures: number;
  readonly lastError: string | null;
  readonly lastSlot: number | null;
  readonly lastFiredAt: number | null;
  readonly lastTaskId: string | null;
  readonly lastRunId: string | null;
}

export interface ScheduleRow extends ScheduleDefinition, ScheduleState {
  readonly owner: "code" | "database";
  /** No living process has it in its code any more, so it does not fire. */
  readonly isOrphaned: boolean;
  readonly createdAt: number;
  /** The database's clock, or the one that was given. */
  readonly now: number;
}

/** The clock of a statement: the database's, unless the first parameter is another time. */
export const NOW = sql`coalesce($1::timestamptz, statement_timestamp())`;

/** A schedule of code that no living process has listed for this long does not fire. */
const LISTED_FOR = sql`interval '10 minutes'`;

export const IS_ORPHANED = sql`(owner = 'code' and listed_at <= ${NOW} - ${LISTED_FOR})`;

/** Whole milliseconds: an instant that psql wrote may have more digits. */
function instant(column: SqlText): SqlText {
  return sql`floor(extract(epoch from ${column}) * 1000)::float8`;
}

export const SCHEDULE_COLUMNS = sql`
  name as "name", owner as "owner", task as "task", workflow as "workflow", input as "input",
  submission as "submission", graph_id as "graphId", pattern as "pattern", timezone as "timezone",
  missed as "missed", max_missed as "maxMissed", overlap as "overlap", jitter_ms as "jitterMs",
  ${instant(sql`start_at`)} as "startAt", ${instant(sql`end_at`)} as "endAt",
  ${instant(sql`created_at`)} as "createdAt", ${IS_ORPHANED} as "isOrphaned",
  ${instant(sql`next_slot`)} as "nextSlot", ${instant(sql`due_at`)} as "dueAt",
  ${instant(sql`buffered_slot`)} as "bufferedSlot", ${instant(sql`paused_at`)} as "pausedAt",
  paused_by as "pausedBy", failures as "failures", last_error as "lastError",
  ${instant(sql`last_slot`)} as "lastSlot", ${instant(sql`last_fired_at`)} as "lastFiredAt",
  last_task_id as "lastTaskId", last_run_id as "lastRunId", ${instant(NOW)} as "now"`;

/** An instant as a parameter or as a field of a JSON parameter. */
export function instantText(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
