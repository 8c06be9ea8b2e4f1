import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** Null: there is no such task. The rule is the SQL function's, so that psql and a handle cancel alike. */
export function cancelTask(schema: SqlText) {
  const CANCEL = statement(sql`select ${schema}.cancel($1) as "answer"`);

  return async (db: Db, id: string): Promise<"cancelled" | "requested" | "finished" | null> => {
    const [row] = await db.query<{ answer: "cancelled" | "requested" | "finished" | null }>(
      CANCEL,
      [id],
    );
    return row?.answer ?? null;
  };
}
