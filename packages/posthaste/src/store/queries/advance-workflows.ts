import { sql, statement, type Db, type SqlText } from "../sql.ts";

/** What others have to be told after the commit. */
export interface RunNews {
  /** Where tasks have landed. */
  readonly woken: readonly (readonly [queue: string, priority: number])[];
  /** Runs that have ended. */
  readonly ended: readonly string[];
}

export const NO_NEWS: RunNews = { woken: [], ended: [] };

/**
 * The run of which a task is a node goes on in the transaction that ends the task. Before it, the root of the run is
 * locked; see migrations/0003_workflows.sql for the order, and functions/workflow_advance.sql for what happens. Served by
 * the primary keys of submissions, workflows, workflow_nodes and the graph's tables.
 */
export function advanceWorkflows(schema: SqlText) {
  const LOCK = statement(sql`select ${schema}.lock_runs_of($1::uuid[])`);
  const ADVANCE = statement(sql`select ${schema}.advance_workflows($1::uuid[]) as "news"`);
  const ADVANCE_AND_NOTIFY = statement(sql`select ${schema}.advance_and_notify($1::uuid[])`);

  return {
    /** Before the tasks themselves are touched. */
    async lock(db: Db, taskIds: readonly string[]): Promise<void> {
      await db.query(LOCK, [taskIds]);
    },
    /** After they have ended, in the same transaction. Of those that have not, nothing is changed. */
    async advance(db: Db, taskIds: readonly string[]): Promise<RunNews> {
      const [row] = await db.query<{ news: string | null }>(ADVANCE, [taskIds]);
      return readNews(row?.news ?? null);
    },
    /** The same inside a transaction of which we do not see the end. */
    async advanceAndTell(db: Db, taskIds: readonly string[]): Promise<void> {
      await db.query(ADVANCE_AND_NOTIFY, [taskIds]);
    },
  };
}

/** @param json null: nothing has happened */
export function readNews(json: string | null): RunNews {
  return json === null ? NO_NEWS : (JSON.parse(json) as RunNews);
}
