import { sql, statement, uuidArray, type Db, type SqlText } from "../sql.ts";
import { CANCELLED_ERROR } from "./complete-tasks.ts";

/** A running task whose worker has been silent for too long. */
export interface StaleTask {
  readonly id: string;
  readonly claimId: string;
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  readonly retryCount: number;
  /** JSON text. */
  readonly options: string | null;
  readonly workerId: string;
  readonly hostname: string | null;
  readonly pid: number | null;
  readonly lastHeartbeatAt: Date;
}

/** What is to become of it. */
export interface Recovery {
  readonly id: string;
  readonly claimId: string;
  readonly edge: "retry" | "fail";
  readonly delayMs: number;
  /** JSON text. */
  readonly error: string;
}

export interface RecoveredTask {
  readonly id: string;
  readonly status: string;
  readonly queue: string;
  readonly priority: number;
}

/**
 * Running tasks that nobody vouches for any more. Both statements read or check what is under way at this moment, and both
 * ask again whether the task is stale: what its worker has renewed meanwhile is left alone. After a start of the server
 * nobody is stale for one threshold: while it was away nobody could say anything.
 */
export function recoverStale(schema: SqlText) {
  const IS_STALE = sql`
    started_at is not null
    and coalesce(heartbeat_at, started_at) < statement_timestamp() - $1::float8 * interval '1 millisecond'
    and pg_postmaster_start_time() < statement_timestamp() - $1::float8 * interval '1 millisecond'`;

  const FIND = statement(sql`
    select stale.task_id as "id", stale.claim_id as "claimId", sent.name as "name", stale.queue as "queue",
           stale.priority as "priority", coalesce(stale.retry_count, 0) as "retryCount", sent.options as "options",
           stale.worker_id as "workerId", owner.hostname as "hostname", owner.pid as "pid",
           coalesce(stale.heartbeat_at, stale.started_at) as "lastHeartbeatAt"
      from (select * from ${schema}.active_tasks where ${IS_STALE} order by task_id limit $2) as stale
      join ${schema}.submissions as sent on sent.task_id = stale.task_id
      left join ${schema}.workers as owner on owner.worker_id = stale.worker_id`);

  // claim_id stays empty in finished_tasks: it was not the claim's owner that wrote this end.
  const RECOVER = statement(sql`
    with gone as (
      delete from ${schema}.active_tasks
       where task_id = any (array(
         select task_id from ${schema}.active_tasks
          where task_id = any ($2::uuid[]) and claim_id = ($3::jsonb -> task_id::text ->> 'claim')::uuid
            and ${IS_STALE}
          order by task_id
            for update skip locked))
      returning *, $3::jsonb -> task_id::text as said
    ), verdict as materialized (
      select gone.*, statement_timestamp() + (said -> 'delay')::float8 * interval '1 millisecond' as due_at,
             case when cancel_requested_at is not null then 'CANCELLED'
                  when said ->> 'edge' = 'retry'
                   and coalesce(statement_timestamp() + (said -> 'delay')::float8 * interval '1 millisecond'
                                < good_until, true) then 'PENDING'
                  else 'FAILED' end as outcome
        from gone
    ), finished as (
      insert into ${schema}.finished_tasks
        (task_id, status, enqueued_at, claimed_at, started_at, finished_at, worker_id, run_no, retry_count, crash_count,
         cancel_requested_at, error_code, error)
      select task_id, outcome, enqueued_at, claimed_at, started_at, statement_timestamp(), worker_id, run_no,
             retry_count, coalesce(crash_count, 0) + 1, cancel_requested_at,
             case when outcome = 'CANCELLED' then 'TASK_CANCELLED' else 'WORKER_CRASHED' end,
             case when outcome = 'CANCELLED' then ${CANCELLED_ERROR} else said -> 'error' end
        from verdict
       where outcome <> 'PENDING'
    ), attempted as (
      insert into ${schema}.attempts
        (task_id, run_no, claim_id, worker_id, claimed_at, started_at, finished_at, outcome, error_code, error)
      select task_id, run_no, claim_id, worker_id, coalesce(claimed_at, started_at), started_at,
             statement_timestamp(), 'WORKER_FAILURE', 'WORKER_CRASHED', said -> 'error'
        from verdict
       where outcome = 'PENDING'
    ), back as (
      insert into ${schema}.ready_tasks
        (task_id, queue, priority, enqueued_at, good_until, run_no, retry_count, crash_count)
      select task_id, queue, priority, due_at, good_until, run_no, coalesce(retry_count, 0) + 1,
             coalesce(crash_count, 0) + 1
        from verdict
       where outcome = 'PENDING'
    )
    select task_id as "id", outcome as "status", queue as "queue", priority as "priority" from verdict`);

  return {
    find: (db: Db, thresholdMs: number, limit: number): Promise<StaleTask[]> =>
      db.query<StaleTask>(FIND, [thresholdMs, limit]),
    recover: (
      db: Db,
      thresholdMs: number,
      recoveries: readonly Recovery[],
    ): Promise<RecoveredTask[]> => {
      const said = recoveries.map(
        ({ id, claimId, edge, delayMs, error }) =>
          `"${id}":{"claim":"${claimId}","edge":"${edge}","delay":${delayMs},"error":${error}}`,
      );
      return db.query<RecoveredTask>(RECOVER, [
        thresholdMs,
        uuidArray(recoveries.map(({ id }) => id)),
        `{${said.join(",")}}`,
      ]);
    },
  };
}
