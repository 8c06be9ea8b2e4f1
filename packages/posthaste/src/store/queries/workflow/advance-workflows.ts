/** Calls the SQL functions that lock and advance runs. */
import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** The notifications to send after the commit. */
export interface RunNotifications {
  /** Where tasks have landed. */
  readonly woken: readonly (readonly [queue: string, priority: number])[];
  /** Runs that have ended. */
  readonly ended: readonly string[];
}

export const NO_NOTIFICATIONS: RunNotifications = { woken: [], ended: [] };

/**
 * The transaction that ends a node's task also advances its run. Before it, the root of the run is
 * locked; see migrations/0003_workflows.sql for the order, and functions/workflow_advance.sql for what happens. Served by
 * the primary keys of submissions, workflows, workflow_nodes and the graph's tables.
 */
export function advanceWorkflows(schema: SqlText) {
  const LOCK = statement(sql`select ${schema}.lock_runs_of($1::uuid[])`);
  const ADVANCE = statement(sql`select ${schema}.advance_workflows($1::uuid[]) as "notifications"`);
  const ADVANCE_AND_NOTIFY = statement(sql`select ${schema}.advance_and_notify($1::uuid[])`);

  return {
    /** Before the tasks themselves are touched. */
    async lock(db: Db, taskIds: readonly string[]): Promise<void> {
      await db.query(LOCK, [taskIds]);
    },
    /** After the tasks have ended, in the same transaction. Tasks that have not ended change nothing. */
    async advance(db: Db, taskIds: readonly string[]): Promise<RunNotifications> {
      const [row] = await db.query<{ notifications: string | null }>(ADVANCE, [taskIds]);
      return readNotifications(row?.notifications ?? null);
    },
    /** The same inside a transaction of which we do not see the end. */
    async advanceAndNotify(db: Db, taskIds: readonly string[]): Promise<void> {
      await db.query(ADVANCE_AND_NOTIFY, [taskIds]);
    },
  };
}

/** @param json null: nothing has happened */
export function readNotifications(json: string | null): RunNotifications {
  return json === null ? NO_NOTIFICATIONS : (JSON.parse(json) as RunNotifications);
}
