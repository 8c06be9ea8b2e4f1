import { sql, statement, type Db } from "../sql.ts";

const PING = statement(sql`select`);

export async function ping(db: Db): Promise<void> {
  await db.query(PING);
}
