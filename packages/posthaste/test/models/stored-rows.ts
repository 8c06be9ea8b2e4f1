/** The tables, read as the model writes them, and their time moved. */
import { sql, statement, type Db, type SqlText } from "../../src/store/sql.ts";
import type { ModelRow } from "./lifecycle-model.ts";

/** Long enough that what a whole run takes is none. */
export const STEP_MS = 10_000;

/** How many steps after the begin, given how many have been made. */
const at = (instant: SqlText): SqlText =>
  sql`($1 - floor(extract(epoch from statement_timestamp() - ${instant}) / 10)::int)`;

const ATTEMPTS = sql`
  (select coalesce(jsonb_agg(jsonb_build_object('run', attempt_no, 'claimId', claim_id, 'outcome', outcome) order by attempt_no), '[]')
     from posthaste.attempts where attempts.task_id = held.task_id) as "attempts"`;

const counters = (runs: SqlText): SqlText => sql`
  ${runs} as "runs", coalesce(retry_count, 0) as "retries", coalesce(crash_count, 0) as "crashes"`;
const BEGUN = sql`coalesce(attempt_no, (started_at is not null)::int)`;

/** For a task that has not returned to its queue, the submission has it. */
const due = at(sql`coalesce(enqueued_at, (
    select coalesce(sent.run_at, sent.sent_at) from posthaste.submissions as sent where sent.task_id = held.task_id))`);

const good = sql`
  (select ${at(sql`sent.good_until`)} from posthaste.submissions as sent where sent.task_id = held.task_id) as "good"`;

const READ = statement(sql`
  select task_id as "id", 'PENDING' as "status", ${due} as "due", ${good}, ${counters(sql`coalesce(attempt_no, 0)`)},
         null::uuid as "claimId", null::uuid as "workerId", null::int as "claimed", null::int as "started",
         null::int as "lease", null::int as "beat", null::int as "finished", false as "isCancelAsked",
         null::text as "code", ${ATTEMPTS}
    from posthaste.ready_tasks as held
  union all
  select task_id, case when started_at is null then 'CLAIMED' else 'RUNNING' end, ${due}, ${good},
         ${counters(BEGUN)}, claim_id, worker_id, ${at(sql`claimed_at`)}, ${at(sql`started_at`)}, ${at(sql`claim_expires_at`)},
         ${at(sql`heartbeat_at`)}, null, cancel_requested_at is not null, null, ${ATTEMPTS}
    from posthaste.active_tasks as held
  union all
  select task_id, coalesce(status, 'COMPLETED'), ${due}, ${good}, ${counters(BEGUN)}, claim_id, worker_id, ${at(sql`claimed_at`)},
         ${at(sql`started_at`)}, null, null, ${at(sql`finished_at`)}, cancel_requested_at is not null, error_code,
         ${ATTEMPTS}
    from posthaste.finished_tasks as held`);

/** Sessions of ours leave JSON as it is. */
type StoredRow = Omit<ModelRow, "attempts"> & { readonly id: string; readonly attempts: string };

export async function storedRows(db: Db, now: number): Promise<Map<string, ModelRow>> {
  const rows = await db.query<StoredRow>(READ, [now]);
  return new Map(
    rows.map(({ id, attempts, ...row }) => [
      id,
      { ...row, attempts: JSON.parse(attempts) as ModelRow["attempts"] },
    ]),
  );
}

const MOVED: readonly (readonly [table: SqlText, ...columns: SqlText[]])[] = [
  [sql`submissions`, sql`sent_at`, sql`run_at`, sql`good_until`],
  [sql`ready_tasks`, sql`enqueued_at`, sql`good_until`],
  [
    sql`active_tasks`,
    sql`enqueued_at`,
    sql`good_until`,
    sql`claimed_at`,
    sql`started_at`,
    sql`claim_expires_at`,
    sql`heartbeat_at`,
    sql`cancel_requested_at`,
  ],
  [
    sql`finished_tasks`,
    sql`enqueued_at`,
    sql`claimed_at`,
    sql`started_at`,
    sql`finished_at`,
    sql`cancel_requested_at`,
  ],
  [sql`attempts`, sql`claimed_at`, sql`started_at`, sql`finished_at`],
  [sql`workers`, sql`last_heartbeat_at`, sql`died_at`],
  [sql`recoveries`, sql`recovered_at`, sql`due_at`],
];

const TICKS = MOVED.map(([table, ...columns]) => {
  const moves = columns.map((column) => sql`${column} = ${column} - $1 * interval '10 seconds'`);
  return statement(sql`update posthaste.${table} set ${moves.join(", ") as SqlText}`);
});

/** Everything that is remembered happened so much earlier. */
export async function passTime(db: Db, steps: number): Promise<void> {
  await Promise.all(TICKS.map((tick) => db.query(tick, [steps])));
}
