import type { CrashDecision } from "../../../domain/crash-policy.ts";
import type {
  HeldStatus,
  InterruptionEvidence,
  RecoveryCause,
} from "../../../domain/interruption.ts";
import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** A task that was taken from a worker, or left to it because a hook wanted so: why, and what became of it. */
export interface RecoveryInfo {
  readonly taskId: string;
  readonly claimId: string;
  /** The worker that had claimed it. */
  readonly workerId: string;
  /** Its status before. */
  readonly status: HeldStatus;
  /** Handlers that had begun. */
  readonly attempt: number;
  readonly reason: RecoveryCause;
  readonly decision: CrashDecision["decision"];
  /** The worker that did it, or "admin". */
  readonly recoveredBy: string;
  readonly recoveredAt: Date;
  /** When it is due again; of a task that is left alone, until when. Null: it has ended. */
  readonly dueAt: Date | null;
  readonly evidence: InterruptionEvidence;
}

type StoredRecovery = Omit<RecoveryInfo, "evidence"> & { readonly evidence: string };

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

  return async (db: Db, limit: number, taskId?: string): Promise<RecoveryInfo[]> => {
    const rows = await (taskId === undefined
      ? db.query<StoredRecovery>(OF_ALL, [limit])
      : db.query<StoredRecovery>(OF_TASK, [limit, taskId]));
    return rows.map((row) => ({
      ...row,
      evidence: JSON.parse(row.evidence) as InterruptionEvidence,
    }));
  };
}
