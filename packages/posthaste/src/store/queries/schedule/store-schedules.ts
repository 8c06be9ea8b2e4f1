import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import { instantText, NOW, type ScheduleDefinition } from "./schedule-rows.ts";

/** A definition with its first slot, which counts if it is new or its pattern has changed. */
export interface NewSchedule extends ScheduleDefinition {
  readonly nextSlot: number | null;
  readonly dueAt: number | null;
  readonly paused: boolean;
}

/** Stores definitions of schedules, and notes that their code is still in use. */
export function storeSchedules(schema: SqlText) {
  const SAME_PATTERN = sql`
    (known.pattern, known.timezone, known.start_at, known.end_at)
    is not distinct from (excluded.pattern, excluded.timezone, excluded.start_at, excluded.end_at)`;
  // In the order of names: processes that start together lock the rows one way round. A changed pattern begins at its next slot and
  // forgets what was missed. Pauses stay: they belong to the operator.
  const STORE = statement(sql`
with given as materialized (
      select * from json_to_recordset($3::json) as given
             (name text, task text, workflow text, input json, submission jsonb, graph_id integer, pattern jsonb,
              timezone text, missed text, max_missed integer, overlap text, jitter_ms integer, start_at timestamptz,
              end_at timestamptz, next_slot timestamptz, due_at timestamptz, paused boolean)
    ), taken as materialized (
      select known.name from given join ${schema}.schedules as known on known.name = given.name
       where known.owner <> $2
    ), stored as (
      insert into ${schema}.schedules as known
             (name, owner, task, workflow, input, submission, graph_id, pattern, timezone, missed, max_missed, overlap,
              jitter_ms, start_at, end_at, created_at, listed_at, next_slot, due_at, paused_at, paused_by)
      select name, $2, task, workflow, coalesce(input, 'null'), submission, graph_id, pattern, timezone, missed, max_missed, overlap,
             jitter_ms, start_at, end_at, ${NOW}, case when $2 = 'code' then ${NOW} end, next_slot, due_at,
             case when paused then ${NOW} end, case when paused then 'code' end
        from given
       where not exists (select from taken)
       order by name collate "C"
          on conflict (name) do update
         set task = excluded.task, workflow = excluded.workflow, input = excluded.input,
             submission = excluded.submission, graph_id = excluded.graph_id, pattern = excluded.pattern,
             timezone = excluded.timezone, missed = excluded.missed, max_missed = excluded.max_missed,
             overlap = excluded.overlap, jitter_ms = excluded.jitter_ms, start_at = excluded.start_at,
             end_at = excluded.end_at, listed_at = excluded.listed_at,
             next_slot = case when ${SAME_PATTERN} then known.next_slot else excluded.next_slot end,
             due_at = case when ${SAME_PATTERN} then known.due_at else excluded.due_at end,
             buffered_slot = case when ${SAME_PATTERN} then known.buffered_slot end
       where known.owner = excluded.owner
      returning name
    )
    select name as "name" from taken
    union all
    select name from given where not exists (select from taken) and name not in (select name from stored)`);

  // Every process that has it says so every few minutes; one write a minute is enough.
  const LIST = statement(sql`
    update ${schema}.schedules set listed_at = ${NOW}
     where name = any (array(
       select name from ${schema}.schedules
        where name = any ($2::text[]) and owner = 'code' and listed_at < ${NOW} - interval '1 minute'
        order by name for update skip locked))`);

  const CLOCK = statement(sql`
    select round(extract(epoch from statement_timestamp()) * 1000)::float8 as "now"`);

  return {
    /** The database's clock, from which first slots are computed. */
    async clock(db: Db): Promise<number> {
      const [row] = await db.query<{ now: number }>(CLOCK);
      if (row === undefined) throw new Error("PostgreSQL did not say its time");
      return row.now;
    },
    /** All or none. Returns the names that belong to the other kind of owner: empty if all were stored. */
    async store(
      db: Db,
      owner: "code" | "database",
      schedules: readonly NewSchedule[],
      now: number | null = null,
    ): Promise<readonly string[]> {
      const rows = `[${schedules.map(rowText).join(",")}]`;
      const taken = await db.query<{ name: string }>(STORE, [instantText(now), owner, rows]);
      return taken.map(({ name }) => name);
    },
    /** A living process has these in its code. */
    async list(db: Db, names: readonly string[], now: number | null = null): Promise<void> {
      await db.query(LIST, [instantText(now), names]);
    },
  };
}

function rowText(schedule: NewSchedule): string {
  const text = JSON.stringify({
    name: schedule.name,
    task: schedule.task,
    workflow: schedule.workflow,
    graph_id: schedule.graphId,
    timezone: schedule.timezone,
    missed: schedule.missed,
    max_missed: schedule.maxMissed,
    overlap: schedule.overlap,
    jitter_ms: schedule.jitterMs,
    start_at: instantText(schedule.startAt),
    end_at: instantText(schedule.endAt),
    next_slot: instantText(schedule.nextSlot),
    due_at: instantText(schedule.dueAt),
    paused: schedule.paused,
  });
  const { input, submission, pattern } = schedule;
  return `${text.slice(0, -1)},"input":${input},"submission":${submission ?? "null"},"pattern":${pattern}}`;
}
