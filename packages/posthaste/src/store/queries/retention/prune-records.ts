import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** The number of deleted rows, and where the next batch continues; null at the end. */
export interface PrunedBatch {
  readonly pruned: number;
  readonly reached: string | null;
}

export interface BatchOptions {
  readonly hours: readonly (number | null)[];
  /** The most rows of a table to delete. */
  readonly most: number;
  /** Where the batch before has got to; null: from the beginning. */
  readonly from: string | null;
}

/** Deletes old records in batches by the functions of functions/retention.sql, and counts them for dry runs. */
export function pruneRecords(schema: SqlText) {
  const HEARTBEATS = statement(
    sql`select ${schema}.prune_heartbeats($1::int, $2::int) as "pruned"`,
  );

  const WORKER_STATES = statement(
    sql`select ${schema}.prune_worker_states($1::int, $2::int) as "pruned"`,
  );

  const ROLLUPS = statement(sql`select ${schema}.prune_rollups($1::int, $2::int) as "pruned"`);
  const SCHEDULE_FIRINGS = statement(
    sql`select ${schema}.prune_schedule_firings($1::int, $2::int) as "pruned"`,
  );

  const TASKS = statement(sql`
    select pruned as "pruned", reached::text as "reached"
      from ${schema}.prune_ended_tasks($1::int, $2::int, $3::int, $4::uuid)`);

  const TASKS_OF_OWN_ID = statement(sql`
    select pruned as "pruned", reached::text as "reached"
      from ${schema}.prune_ended_tasks_of_own_id($1::int, $2::int, $3::int, $4::timestamptz)`);

  const WORKFLOWS = statement(sql`
    select pruned as "pruned", reached::text as "reached"
      from ${schema}.prune_workflows($1::int, $2::int, $3::timestamptz)`);

  const CUTOFF = sql`statement_timestamp() - $1::int * interval '1 hour'`;

  const COUNT_HEARTBEATS = statement(sql`
    select count(*)::int as "pruned" from ${schema}.heartbeats where sent_at < ${CUTOFF}`);

  const COUNT_WORKER_STATES = statement(sql`
    select (
      (select count(*) from ${schema}.worker_states where taken_at < ${CUTOFF})
      + (select count(*) from ${schema}.workers
          where greatest(last_heartbeat_at, died_at) < ${CUTOFF}
            and worker_id <> all (array(select distinct worker_id from ${schema}.active_tasks)))
      + (select count(*) from ${schema}.recoveries
          where recovered_at < ${CUTOFF} and not (decision = 'skip' and due_at > statement_timestamp()))
    )::int as "pruned"`);

  const COUNT_ROLLUPS = statement(sql`
    select count(*)::int as "pruned" from ${schema}.rollups where starts_at < ${CUTOFF}`);

  const FIRST_CUTOFF = sql`statement_timestamp() - interval '1 hour'
    * least($1::int, $2::int, (select min(keep_hours) from ${schema}.task_definitions))`;

  const COUNT_TASKS = statement(sql`
    select count(*)::int as "pruned"
      from ${schema}.finished_tasks as ended
      join ${schema}.submissions as sent on sent.task_id = ended.task_id
      left join ${schema}.task_definitions as known on known.name = sent.name
     where ended.finished_at < statement_timestamp() - interval '1 hour'
             * coalesce(known.keep_hours, case when ended.status is null then $1::int else $2::int end)
       and sent.workflow_id is null
       and (ended.task_id < ${schema}.first_id_at(${FIRST_CUTOFF})
         or ended.task_id >= ${schema}.first_id_at(statement_timestamp() + interval '1 hour'))`);

  const COUNT_SCHEDULE_FIRINGS = statement(sql`
    select count(*)::int as "pruned" from ${schema}.schedule_firings where fired_at < ${CUTOFF}`);

  const COUNT_WORKFLOWS = statement(sql`
    select count(*)::int as "pruned"
      from ${schema}.workflow_states as state
      join ${schema}.workflows as run on run.workflow_id = state.workflow_id
     where state.ended_at < ${CUTOFF} and run.parent_id is null`);

  const figure =
    (asked: typeof HEARTBEATS) =>
    async (db: Db, ...values: readonly (number | null)[]): Promise<number> => {
      const [row] = await db.query<{ pruned: number }>(asked, values);
      return row?.pruned ?? 0;
    };

  const batch =
    (asked: typeof TASKS, beginning: string) =>
    async (db: Db, { hours, most, from }: BatchOptions): Promise<PrunedBatch> => {
      const [row] = await db.query<PrunedBatch>(asked, [...hours, most, from ?? beginning]);
      return row ?? { pruned: 0, reached: null };
    };

  return {
    /** Each takes the hours that are kept and the most rows of a table to delete. */
    heartbeats: figure(HEARTBEATS),
    workerStates: figure(WORKER_STATES),
    scheduleFirings: figure(SCHEDULE_FIRINGS),
    rollups: figure(ROLLUPS),
    /** `hours`: those of COMPLETED tasks, and those of all others; null: they are kept forever. */
    tasks: batch(TASKS, "00000000-0000-0000-0000-000000000000"),
    tasksOfOwnId: batch(TASKS_OF_OWN_ID, "-infinity"),
    /** `hours`: one number. */
    workflows: batch(WORKFLOWS, "-infinity"),
    /** Each takes the hours that are kept, and deletes nothing. */
    count: {
      heartbeats: figure(COUNT_HEARTBEATS),
      workerStates: figure(COUNT_WORKER_STATES),
      rollups: figure(COUNT_ROLLUPS),
      tasks: figure(COUNT_TASKS),
      workflows: figure(COUNT_WORKFLOWS),
      scheduleFirings: figure(COUNT_SCHEDULE_FIRINGS),
    },
  };
}
