import { sql, statement, type Db } from "../sql.ts";

const NOTIFY = statement(
  sql`select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as wake (channel, payload)`,
);

/** Wakes the workers of queues. In a statement of its own: inside an insert it would take a database-wide lock. */
export async function notifyQueues(db: Db, wakes: ReadonlyMap<string, string>): Promise<void> {
  await db.query(NOTIFY, [[...wakes.keys()], [...wakes.values()]]);
}
