/** Ends claims, on any edge. */
import { sql, statement, uuidArray, type Db, type SqlText } from "../../sql.ts";
import { attemptsSoFar } from "../claim/claim-rows.ts";
import { placeInQueue } from "../send/place-in-queue.ts";
import { CANCELLED_ERROR, completeTasks, EXPIRED_ERROR, isCompletion } from "./complete-tasks.ts";
import { nameOfEnd } from "./name-of-end.ts";

/** An edge that ends a claim: decided by `decideEnd()`, or by a worker that returns or expires a task before its handler begins. */
export type SettlingEdge = "succeed" | "fail" | "retry" | "release" | "requeue" | "expire";

export interface TaskEnd {
  readonly id: string;
  readonly claimId: string;
  readonly edge: SettlingEdge;
  /** Whether the handler began. An attempt whose handler did not is neither counted nor kept. */
  readonly ran: boolean;
  /** JSON text. */
  readonly result?: string;
  /** JSON text. */
  readonly error?: string;
  readonly code?: string;
  readonly delayMs?: number;
}

export interface SettleReply {
  /** How many of the claims were still held. Fewer than asked for: see `findOwnCommits`. */
  readonly settled: number;
  /** Tasks that ended otherwise than asked: cancelled meanwhile, or too late for their retry. */
  readonly overridden: readonly { readonly id: string; readonly status: string }[];
}

/**
 * Ends claims, a batch at a time. Fenced by claim_id: a row that is not there any more, or belongs to another claim, is
 * not touched. Served by active_tasks_id_idx.
 *
 * The delete waits for a locked row, and then sees its new version: with SKIP LOCKED, or by ctid, a
 * heartbeat that commits at the same moment made a valid finish miss (0 of 3 rows in a test). An index scan over an array
 * goes through it in the order of the index, so rows are locked in id order.
 *
 * The values of each task are looked up by its id in one JSON object. Written as a join, the planner read the whole
 * table and compared each row with each item whenever its statistics came from an emptier moment (50,000 comparisons for
 * 100 items); locking first and deleting then costs a WAL record more for every task.
 *
 * The two overrides are those of `statusAfter()` in domain/task-lifecycle.ts; a test compares them.
 */
export function settleTasks(schema: SqlText) {
  const complete = completeTasks(schema);

  const SETTLE = statement(sql`
    with gone as (
      delete from ${schema}.active_tasks
       where task_id = any ($1::uuid[]) and claim_id = ($2::jsonb -> task_id::text ->> 'claim')::uuid
      returning *, $2::jsonb -> task_id::text as given
    ), heard as materialized (
      select gone.*, given ->> 'edge' as edge, (given -> 'ran')::boolean as ran, given ->> 'code' as code,
             statement_timestamp() + coalesce((given -> 'delay')::float8, 0) * interval '1 millisecond' as due_at
        from gone
    ), verdict as materialized (
      select heard.*,
             ${attemptsSoFar(sql`heard`)} - case when started_at is not null and not ran then 1 else 0 end as runs,
             case when cancel_requested_at is not null then 'CANCELLED'
                  when edge = 'succeed' then 'COMPLETED'
                  when edge = 'fail' then 'FAILED'
                  when edge = 'expire' then 'EXPIRED'
                  when edge = 'retry' and due_at >= good_until then 'FAILED'
                  else 'PENDING' end as outcome
        from heard
    ), finished as (
      insert into ${schema}.finished_tasks
        (task_id, status, enqueued_at, claimed_at, started_at, finished_at, claim_id, worker_id, attempt_no, retry_count,
         crash_count, cancel_requested_at, error_code, result, error, name, queue)
      select task_id, nullif(outcome, 'COMPLETED'), enqueued_at,
             case when ran then claimed_at else coalesce(claimed_at, started_at) end,
             case when ran then started_at end, statement_timestamp(), claim_id, worker_id, runs, retry_count,
             crash_count, cancel_requested_at,
             case outcome when 'CANCELLED' then 'TASK_CANCELLED' when 'EXPIRED' then 'TASK_EXPIRED'
                          when 'FAILED' then code end,
             case outcome when 'COMPLETED' then given -> 'result' end,
             case outcome when 'CANCELLED' then ${CANCELLED_ERROR} when 'EXPIRED' then ${EXPIRED_ERROR}
                          when 'FAILED' then given -> 'error' end,
             named.name, named.queue
        from verdict
        left join lateral ${nameOfEnd(schema, sql`verdict.task_id`, sql`verdict.outcome <> 'COMPLETED'`)} as named on true
       where outcome <> 'PENDING'
    ), history as (
      insert into ${schema}.attempts
        (task_id, attempt_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome, error_code, error)
      select task_id, runs, claim_id, worker_id, coalesce(claimed_at, started_at), started_at,
             statement_timestamp(),
             case edge when 'retry' then 'FAILED' else 'INTERRUPTED' end, code, given -> 'error'
        from verdict
       where outcome = 'PENDING' and ran and edge in ('retry', 'requeue')
    ), returned as (
      insert into ${schema}.ready_tasks
        (task_id, queue, priority, enqueued_at, good_until, attempt_no, retry_count, crash_count)
      select verdict.task_id, sent.queue, sent.priority,
             case edge when 'retry' then due_at else coalesce(enqueued_at, sent.first_due_at) end, good_until, runs,
             case edge when 'retry' then coalesce(retry_count, 0) + 1 else retry_count end,
             case edge when 'retry' then 0 else crash_count end
        from verdict left join lateral ${placeInQueue(schema, sql`verdict.task_id`)} as sent on true
       where outcome = 'PENDING'
    )
    select null as "id", null as "status", count(*)::int as "settled" from gone
    union all
    select task_id, outcome, null from verdict
     where outcome <> case edge when 'succeed' then 'COMPLETED' when 'fail' then 'FAILED' when 'expire' then 'EXPIRED'
                            else 'PENDING' end`);

  async function settle(db: Db, tasks: readonly TaskEnd[]): Promise<SettleReply> {
    const [count, ...overridden] = await db.query<Row>(SETTLE, [
      uuidArray(tasks.map(({ id }) => id)),
      settledJson(tasks),
    ]);
    return {
      settled: count?.settled ?? 0,
      overridden: overridden.flatMap(({ id, status }) =>
        id === null || status === null ? [] : [{ id, status }],
      ),
    };
  }

  return async (db: Db, tasks: readonly TaskEnd[]): Promise<SettleReply> => {
    return tasks.every(isCompletion) ? complete(db, tasks) : settle(db, tasks);
  };
}

interface Row {
  readonly id: string | null;
  readonly status: string | null;
  readonly settled: number | null;
}

/** By id, so a batch holds each task once. Written by hand: results and errors are JSON already, and stringifying them again would escape every quote. */
function settledJson(tasks: readonly TaskEnd[]): string {
  const items = tasks.map(({ id, claimId, edge, ran, result, error, code, delayMs }) => {
    let item = `"${id}":{"claim":"${claimId}","edge":"${edge}","ran":${ran}`;
    if (edge === "succeed") item += `,"result":${result ?? "null"}`;
    if (error !== undefined) item += `,"error":${error}`;
    if (code !== undefined) item += `,"code":${JSON.stringify(code)}`;
    if (delayMs !== undefined) item += `,"delay":${delayMs}`;
    return `${item}}`;
  });
  return `{${items.join(",")}}`;
}
