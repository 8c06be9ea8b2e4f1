import { sql, statement, type Db, type SqlText, type Statement } from "../../sql.ts";

/** Runs that have ended: their waiters are notified again after the commit. */
interface Steered {
  readonly ended: readonly string[];
}

export interface Changed extends Steered {
  readonly changed: boolean;
}

export interface CancelledRun extends Steered {
  readonly answer: "cancelled" | "requested" | "finished";
  /** Tasks that waited in their queue. */
  readonly tasks: readonly string[];
}

/** Why nodes are not started over. */
export type RetryRefusal =
  | { readonly answer: "status"; readonly status: string; readonly isCancelling: boolean }
  | { readonly answer: "nested"; readonly root: string }
  | { readonly answer: "unknown"; readonly node: string }
  | { readonly answer: "not failed"; readonly node: string; readonly status: string }
  | { readonly answer: "under way"; readonly node: string };

export type RetryReply = (Steered & { readonly answer: "retried" }) | RetryRefusal;

/**
 * Pause, resume, cancel, start over. The rules are the SQL functions' (functions/workflow_control.sql, workflow_retry.sql), so
 * that psql and a handle do the same. Each waits for the lock of the run's root, and tells workers. Null: there is no such run.
 */
export function steerWorkflows(schema: SqlText) {
  const PAUSE = statement(sql`select ${schema}.pause_workflow($1) as "reply"`);
  const RESUME = statement(sql`select ${schema}.resume_workflow($1) as "reply"`);
  const CANCEL = statement(sql`select ${schema}.cancel_workflow($1) as "reply"`);
  const RETRY = statement(sql`select ${schema}.retry_workflow($1, $2::text[]) as "reply"`);

  async function ask<Reply>(db: Db, call: Statement, values: unknown[]): Promise<Reply | null> {
    const [row] = await db.query<{ reply: string | null }>(call, values);
    return row === undefined || row.reply === null ? null : (JSON.parse(row.reply) as Reply);
  }

  return {
    pause: (db: Db, id: string) => ask<Changed>(db, PAUSE, [id]),
    resume: (db: Db, id: string) => ask<Changed>(db, RESUME, [id]),
    cancel: (db: Db, id: string) => ask<CancelledRun>(db, CANCEL, [id]),
    retry: (db: Db, id: string, nodes: readonly string[]) =>
      ask<RetryReply>(db, RETRY, [id, nodes]),
  };
}
