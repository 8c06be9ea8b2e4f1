/** Ends claims whose tasks all succeeded: the fast path of settle-tasks.ts. */
import {
  parametersNamed,
  sql,
  statement,
  uuidArrayBytes,
  type Db,
  type Parameters,
  type SqlText,
} from "../../sql.ts";
import { nameOfEnd } from "./name-of-end.ts";
import type { TaskEnd, SettleReply } from "./settle-tasks.ts";

/** Most ends of most workers: the handler ran and succeeded. */
export function isCompletion({ edge, ran }: TaskEnd): boolean {
  return edge === "succeed" && ran;
}

/** In the order of `completionValues`. */
export const completionParameters = ["endedIds", "endedClaims", "results"] as const;

/**
 * Steps that end claims which all succeeded; the last one, `ended`, is one row with the outcome. Fence, locks and overrides are those of
 * settle-tasks.ts, which handles every edge and takes twice the time.
 *
 * The ids come sorted, so that width_bucket finds a row's claim by binary search.
 */
export function completionSteps(
  schema: SqlText,
  at: Parameters<(typeof completionParameters)[number]>,
): SqlText {
  const [ids, claims, results] = [at("endedIds"), at("endedClaims"), at("results")];
  return sql`
    gone as (
      delete from ${schema}.active_tasks
       where task_id = any (${ids}::uuid[])
         and claim_id = (${claims}::uuid[])[width_bucket(task_id, ${ids}::uuid[])]
      returning task_id, claim_id, worker_id, enqueued_at, claimed_at, started_at, cancel_requested_at, attempt_no,
                retry_count, crash_count
    ), finished as (
      insert into ${schema}.finished_tasks
        (task_id, status, enqueued_at, claimed_at, started_at, finished_at, claim_id, worker_id, attempt_no, retry_count,
         crash_count, cancel_requested_at, error_code, result, error, name, queue)
      select task_id, case when cancel_requested_at is not null then 'CANCELLED' end, enqueued_at, claimed_at,
             started_at, statement_timestamp(), claim_id, worker_id, attempt_no, retry_count, crash_count,
             cancel_requested_at, case when cancel_requested_at is not null then 'TASK_CANCELLED' end,
             case when cancel_requested_at is not null then null
                  when ${results}::jsonb is null then 'null'
                  else coalesce(${results}::jsonb -> task_id::text, 'null') end,
             case when cancel_requested_at is not null then ${CANCELLED_ERROR} end, named.name, named.queue
        from gone
        left join lateral ${nameOfEnd(schema, sql`gone.task_id`, sql`gone.cancel_requested_at is not null`)} as named on true
    ), ended as materialized (
      select count(*)::int as settled, json_agg(task_id) filter (where cancel_requested_at is not null) as cancelled
        from gone
    )`;
}

export function completionValues(tasks: readonly TaskEnd[]): (Buffer | string | null)[] {
  const inOrder = [...tasks].sort((a, b) => (a.id < b.id ? -1 : 1));
  return [
    uuidArrayBytes(inOrder.map(({ id }) => id)),
    uuidArrayBytes(inOrder.map(({ claimId }) => claimId)),
    resultsJson(tasks),
  ];
}

export function completionReply(settled: number, cancelled: readonly string[] | null): SettleReply {
  return { settled, overridden: (cancelled ?? []).map((id) => ({ id, status: "CANCELLED" })) };
}

export function completeTasks(schema: SqlText) {
  const at = parametersNamed(completionParameters);
  const COMPLETE = statement(
    sql`with ${completionSteps(schema, at)} select settled, cancelled from ended`,
  );

  return async (db: Db, tasks: readonly TaskEnd[]): Promise<SettleReply> => {
    const [row] = await db.query<{ settled: number; cancelled: string | null }>(
      COMPLETE,
      completionValues(tasks),
    );
    const cancelled = JSON.parse(row?.cancelled ?? "null") as string[] | null;
    return completionReply(row?.settled ?? 0, cancelled);
  };
}

/** By id; null, the result of most tasks, is left out. Null if nothing is left. */
function resultsJson(tasks: readonly TaskEnd[]): string | null {
  const items: string[] = [];
  for (const { id, result } of tasks) {
    if (result !== undefined && result !== "null") items.push(`"${id}":${result}`);
  }
  return items.length === 0 ? null : `{${items.join(",")}}`;
}

export const CANCELLED_ERROR = sql`'{"code": "TASK_CANCELLED", "message": "the task was cancelled"}'::jsonb`;

export const EXPIRED_ERROR = sql`
  '{"code": "TASK_EXPIRED", "message": "the task did not start before its goodUntil"}'::jsonb`;
