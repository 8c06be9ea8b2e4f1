import { sql, statement, type Db, type SqlText } from "../sql.ts";

/** A run that has not ended. */
export interface OpenRun {
  readonly id: string;
  /** What contradicts itself in it; empty: nothing. */
  readonly found: readonly string[];
}

/** Runs that are stuck, and their repair. The rules are the SQL functions', see functions/workflow_repair.sql. */
export function repairWorkflows(schema: SqlText) {
  const FIND = statement(sql`
    select workflow_id as "id", to_jsonb(found) as "found" from ${schema}.find_stuck_workflows($1, $2)`);

  const REPAIR = statement(sql`select ${schema}.repair_workflow($1) as "news"`);

  return {
    /** A page of open runs, in id order behind `after`. */
    async find(db: Db, after: string, page: number): Promise<OpenRun[]> {
      const rows = await db.query<{ id: string; found: string }>(FIND, [after, page]);
      return rows.map(({ id, found }) => ({ id, found: JSON.parse(found) as string[] }));
    },
    /** Waits for the lock of the run. Workers are told; returns the runs that have ended by it. */
    async repair(db: Db, id: string): Promise<readonly string[]> {
      const [row] = await db.query<{ news: string }>(REPAIR, [id]);
      const { ended = [] } = JSON.parse(row?.news ?? "{}") as { ended?: readonly string[] };
      return ended;
    },
  };
}
