import type { CrashDecision } from "../../domain/crash-policy.ts";
import type { HeldStatus, RecoveryCause } from "../../domain/interruption.ts";
import { sql, statement, type Db, type SqlText } from "../sql.ts";

export interface RecoveryRow {
  readonly taskId: string;
  readonly claimId: string;
  readonly workerId: string;
  readonly status: HeldStatus;
  readonly attempt: number;
  readonly reason: RecoveryCause;
  readonly decision: CrashDecision["decision"];
  readonly recoveredBy: string;
  readonly recoveredAt: Date;
  readonly dueAt: Date | null;
  /** JSON text. */
  readonly evidence: string;
}

/** Newest first: those of a task by recoveries_task_idx, of all by the primary key. */
export function listRecoveries(schema: SqlText) {
  const COLUMNS = sql`
    task_id as "taskId", claim_id as "claimId", worker_id as "workerId", status as "status", attempt_no as "attempt",
    reason as "reason", decision as "decision", recovered_by as "recoveredBy", recovered_at as "recoveredAt",
    due_at as "dueAt", evidence as "evidence"`;

  const OF_ALL = statement(sql`
    select ${COLUMNS} from ${schema}.recoveries order by id desc limit $1`);

  const OF_TASK = statement(sql`
    select ${COLUMNS} from ${schema}.recoveries where task_id = $2 order by id desc limit $1`);

  return (db: Db, limit: number, taskId?: string): Promise<RecoveryRow[]> =>
    taskId === undefined
      ? db.query<RecoveryRow>(OF_ALL, [limit])
      : db.query<RecoveryRow>(OF_TASK, [limit, taskId]);
}
