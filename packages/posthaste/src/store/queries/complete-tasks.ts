import { parameter, sql, statement, uuidArrayBytes, type Db, type SqlText } from "../sql.ts";
import type { SettledTask, SettleReply } from "./settle-tasks.ts";

/** Most ends of most workers: the body ran and succeeded. */
export function isCompletion({ edge, ran }: SettledTask): boolean {
  return edge === "succeed" && ran;
}

/**
 * Steps that end claims of which every one succeeded; the last, `ended`, is one row that says what became of them. Fence,
 * locks and overrides are those of settle-tasks.ts, which knows every edge and takes twice the time for it.
 *
 * The ids come sorted, so that width_bucket finds a row's own claim among them by halving.
 *
 * @param first number of the first of three parameters: ids, claims, results
 */
export function completionSteps(schema: SqlText, first: number): SqlText {
  const [ids, claims, results] = [parameter(first), parameter(first + 1), parameter(first + 2)];
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
         crash_count, cancel_requested_at, error_code, result, error)
      select task_id, case when cancel_requested_at is not null then 'CANCELLED' end, enqueued_at, claimed_at,
             started_at, statement_timestamp(), claim_id, worker_id, attempt_no, retry_count, crash_count,
             cancel_requested_at, case when cancel_requested_at is not null then 'TASK_CANCELLED' end,
             case when cancel_requested_at is not null then null
                  when ${results}::jsonb is null then 'null'
                  else coalesce(${results}::jsonb -> task_id::text, 'null') end,
             case when cancel_requested_at is not null then ${CANCELLED_ERROR} end
        from gone
    ), ended as materialized (
      select count(*)::int as settled, json_agg(task_id) filter (where cancel_requested_at is not null) as cancelled
        from gone
    )`;
}

export function completionValues(tasks: readonly SettledTask[]): (Buffer | string | null)[] {
  const inOrder = [...tasks].sort((a, b) => (a.id < b.id ? -1 : 1));
  return [
    uuidArrayBytes(inOrder.map(({ id }) => id)),
    uuidArrayBytes(inOrder.map(({ claimId }) => claimId)),
    resultsJson(tasks),
  ];
}

/** @param cancelled JSON text */
export function completionReply(settled: number | null, cancelled: string | null): SettleReply {
  const ids = cancelled === null ? [] : (JSON.parse(cancelled) as string[]);
  return {
    settled: settled ?? 0,
    overridden: ids.map((id) => ({ id, status: "CANCELLED" })),
  };
}

export function completeTasks(schema: SqlText) {
  const COMPLETE = statement(
    sql`with ${completionSteps(schema, 1)} select settled, cancelled from ended`,
  );

  return async (db: Db, tasks: readonly SettledTask[]): Promise<SettleReply> => {
    const [row] = await db.query<{ settled: number; cancelled: string | null }>(
      COMPLETE,
      completionValues(tasks),
    );
    return completionReply(row?.settled ?? null, row?.cancelled ?? null);
  };
}

/** By id; null, the result of most tasks, is left out. Null if nothing is left. */
function resultsJson(tasks: readonly SettledTask[]): string | null {
  const items: string[] = [];
  for (const { id, result } of tasks) {
    if (result !== undefined && result !== "null") items.push(`"${id}":${result}`);
  }
  return items.length === 0 ? null : `{${items.join(",")}}`;
}

export const CANCELLED_ERROR = sql`'{"code": "TASK_CANCELLED", "message": "the task was cancelled"}'::jsonb`;

export const EXPIRED_ERROR = sql`
  '{"code": "TASK_EXPIRED", "message": "the task did not start before its goodUntil"}'::jsonb`;
