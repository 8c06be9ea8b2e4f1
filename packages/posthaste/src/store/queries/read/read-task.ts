import type { AttemptInfo, TaskRetry } from "../../../domain/result.ts";
import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import {
  attemptsOf,
  readAttempts,
  readRetries,
  retriesOf,
  type AttemptJson,
  type RetryJson,
} from "./attempts.ts";

export interface TaskRow {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  readonly status: string;
  readonly sentAt: Date;
  readonly enqueuedAt: Date;
  readonly claimedAt: Date | null;
  readonly startedAt: Date | null;
  readonly completedAt: Date | null;
  readonly failedAt: Date | null;
  readonly cancelledAt: Date | null;
  readonly nextRetryAt: Date | null;
  readonly goodUntil: Date | null;
  readonly retryCount: number;
  readonly attemptNo: number;
  readonly errorCode: string | null;
  readonly workerId: string | null;
  readonly workerName: string | null;
  readonly workerHostname: string | null;
  readonly workerPid: number | null;
  /** JSON text. */
  readonly progress: string | null;
  readonly copyOf: string | null;
  readonly attempts: readonly AttemptInfo[];
  readonly retries: readonly TaskRetry[];
}

type Stored = Omit<TaskRow, "attempts" | "retries"> & {
  readonly attempts: string;
  readonly retries: string;
};

/** One task, whole. One statement, or a task that moves between two tables meanwhile looks absent. */
export function readTask(schema: SqlText) {
  const READ = statement(sql`
    select task.id as "id", task.name as "name", task.queue as "queue", task.priority as "priority",
           task.status as "status", task.sent_at as "sentAt", task.enqueued_at as "enqueuedAt",
           task.claimed_at as "claimedAt", task.started_at as "startedAt", task.completed_at as "completedAt",
           task.failed_at as "failedAt", task.cancelled_at as "cancelledAt", task.next_retry_at as "nextRetryAt",
           task.good_until as "goodUntil", task.retry_count as "retryCount", task.attempt_no as "attemptNo",
           task.error_code as "errorCode", task.worker_id as "workerId", worker.name as "workerName",
           worker.hostname as "workerHostname", worker.pid as "workerPid", task.copy_of as "copyOf",
           (select reported.value from ${schema}.progress as reported where reported.task_id = $1) as "progress",
           ${attemptsOf(schema, sql`$1`)} as "attempts", ${retriesOf(schema, sql`$1`)} as "retries"
      from ${schema}.tasks as task left join ${schema}.workers as worker using (worker_id)
     where task.id = $1`);

  return async (db: Db, id: string): Promise<TaskRow | undefined> => {
    const [row] = await db.query<Stored>(READ, [id]);
    if (row === undefined) return undefined;
    return {
      ...row,
      attempts: readAttempts(JSON.parse(row.attempts) as AttemptJson[]),
      retries: readRetries(JSON.parse(row.retries) as RetryJson[]),
    };
  };
}
