import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** A run that has not ended. */
export interface OpenRun {
  readonly id: string;
  /** The contradictions in it; empty: none. */
  readonly found: readonly string[];
}

/** Runs that are stuck, and their repair. The rules are the SQL functions', see functions/workflow_repair.sql. */
export function repairWorkflows(schema: SqlText) {
  const FIND = statement(sql`
    select workflow_id as "id", to_jsonb(found) as "found" from ${schema}.find_stuck_workflows($1, $2)`);

  const REPAIR = statement(sql`select ${schema}.repair_workflow($1) as "notifications"`);

  return {
    /** A page of open runs, in id order behind `after`. */
    async find(db: Db, after: string, page: number): Promise<OpenRun[]> {
      const rows = await db.query<{ id: string; found: string }>(FIND, [after, page]);
      return rows.map(({ id, found }) => ({ id, found: JSON.parse(found) as string[] }));
    },
    /** Waits for the lock of the run. Notifies workers; returns the runs that have ended. */
    async repair(db: Db, id: string): Promise<readonly string[]> {
      const [row] = await db.query<{ notifications: string }>(REPAIR, [id]);
      const { ended = [] } = JSON.parse(row?.notifications ?? "{}") as {
        ended?: readonly string[];
      };
      return ended;
    },
  };
}
