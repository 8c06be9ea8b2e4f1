import { sql, statement, type Db, type SqlText } from "../sql.ts";

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
}

export interface AttemptRow {
  readonly attempt: number;
  readonly outcome: string;
  readonly willRetry: boolean;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  readonly errorCode: string | null;
  /** JSON text. */
  readonly error: string | null;
  readonly workerId: string;
}

/** One task, whole. One statement, or a task that moves between two tables meanwhile looks absent. */
export function readTask(schema: SqlText) {
  const READ = statement(sql`
    select task.id as "id", task.name as "name", task.queue as "queue", task.priority as "priority",
           task.status as "status", task.sent_at as "sentAt", task.enqueued_at as "enqueuedAt",
           task.claimed_at as "claimedAt", task.started_at as "startedAt", task.completed_at as "completedAt",
           task.failed_at as "failedAt", task.cancelled_at as "cancelledAt", task.next_retry_at as "nextRetryAt",
           task.good_until as "goodUntil", task.retry_count as "retryCount", task.attempt_no as "attemptNo",
           task.error_code as "errorCode", task.worker_id as "workerId", worker.name as "workerName",
           worker.hostname as "workerHostname", worker.pid as "workerPid",
           (select said.value from ${schema}.progress as said where said.task_id = $1) as "progress"
      from ${schema}.tasks as task left join ${schema}.workers as worker using (worker_id)
     where task.id = $1`);

  // The last attempt is the row in finished_tasks, the running one the row in active_tasks.
  const ATTEMPTS = statement(sql`
    select attempt_no as "attempt", outcome as "outcome", outcome = 'FAILED' as "willRetry", started_at as "startedAt",
           finished_at as "finishedAt", error_code as "errorCode", error as "error", worker_id as "workerId"
      from ${schema}.attempts where task_id = $1
    union all
    select coalesce(attempt_no, 1), 'RUNNING', false, started_at, null, null, null, worker_id
      from ${schema}.active_tasks where task_id = $1 and started_at is not null
    union all
    select coalesce(attempt_no, 1), coalesce(status, 'COMPLETED'), false, started_at, finished_at, error_code, error,
           worker_id
      from ${schema}.finished_tasks where task_id = $1 and started_at is not null
    order by 1`);

  return {
    async row(db: Db, id: string): Promise<TaskRow | undefined> {
      const [row] = await db.query<TaskRow>(READ, [id]);
      return row;
    },
    attempts: (db: Db, id: string): Promise<AttemptRow[]> => db.query<AttemptRow>(ATTEMPTS, [id]),
  };
}
