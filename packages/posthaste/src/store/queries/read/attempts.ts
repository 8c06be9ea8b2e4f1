/**
 * The attempts of a task, as a column of the statement that reads the task or its node. In a statement of their own they would be as of
 * another moment: a task could look PENDING and have an attempt that is RUNNING.
 */
import type { AttemptInfo, TaskRetry } from "../../../domain/result.ts";
import { sql, type SqlText } from "../../sql.ts";

/** A JSON list in the order of the attempts. The last attempt is the row in finished_tasks, the running one that in active_tasks. */
export function attemptsOf(schema: SqlText, taskId: SqlText): SqlText {
  return sql`(
    select coalesce(json_agg(made order by made."attempt"), '[]')
      from (
        select attempt_no as "attempt", outcome as "outcome", outcome = 'FAILED' and ended_task is null as "willRetry",
               started_at as "startedAt", finished_at as "finishedAt", error_code as "errorCode", error as "error",
               worker_id as "workerId"
          from ${schema}.attempts where task_id = ${taskId}
        union all
        select coalesce(attempt_no, 1), 'RUNNING', false, started_at, null, null, null, worker_id
          from ${schema}.active_tasks where task_id = ${taskId} and started_at is not null
        union all
        select coalesce(attempt_no, 1), coalesce(status, 'COMPLETED'), false, started_at, finished_at, error_code, error,
               worker_id
          from ${schema}.finished_tasks where task_id = ${taskId} and started_at is not null
      ) as made)`;
}

/** A JSON list of the ends that operators took back, oldest first. Served by task_retries_task_idx. */
export function retriesOf(schema: SqlText, taskId: SqlText): SqlText {
  return sql`(
    select coalesce(json_agg(made order by made.id), '[]')
      from (
        select id, retried_at as "retriedAt", retried_by as "retriedBy", status as "status", finished_at as "finishedAt",
               attempt_no as "attempt", error_code as "errorCode", error as "error", good_until as "goodUntil"
          from ${schema}.task_retries where task_id = ${taskId}
      ) as made)`;
}

type RetryInstants = "retriedAt" | "finishedAt" | "goodUntil";
export type RetryJson = Omit<TaskRetry, RetryInstants> & {
  readonly id: number;
  readonly retriedAt: string;
  readonly finishedAt: string;
  readonly goodUntil: string | null;
};

export function readRetries(retries: readonly RetryJson[]): TaskRetry[] {
  return retries.map((stored) => {
    const { id: _, ...retry } = stored;
    return {
      ...retry,
      retriedAt: new Date(retry.retriedAt),
      finishedAt: new Date(retry.finishedAt),
      goodUntil: instant(retry.goodUntil),
    };
  });
}

/** As JSON has it: times are text. */
export type AttemptJson = Omit<AttemptInfo, "startedAt" | "finishedAt"> & {
  readonly startedAt: string;
  readonly finishedAt: string | null;
};

export function readAttempts(attempts: readonly AttemptJson[]): AttemptInfo[] {
  return attempts.map((attempt) => ({
    ...attempt,
    startedAt: new Date(attempt.startedAt),
    finishedAt: instant(attempt.finishedAt),
  }));
}

export function instant(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
