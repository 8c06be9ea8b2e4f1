/** Notifies the workers of queues. */
import { sql, statement, type Db, type SqlText } from "../../sql.ts";

/** Payloads by channel. */
export type Wakes = ReadonlyMap<string, string>;

/** Wakes the workers of queues. In a statement of its own: inside an insert it would take a database-wide lock. */
export function notifyQueues(schema: SqlText) {
  const NOTIFY = statement(
    sql`select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as wake (channel, payload)`,
  );

  const NOTIFY_UNLESS_FULL = statement(sql`
    select ${schema}.notify_unless_full(channel, payload)
      from unnest($1::text[], $2::text[]) as wake (channel, payload)`);

  return {
    /** In a transaction of its own, which may fail without harm: the server's notification queue may be full (54000). */
    async alone(db: Db, wakes: Wakes): Promise<void> {
      await db.query(NOTIFY, [[...wakes.keys()], [...wakes.values()]]);
    },
    /** In a transaction that has written something, or where a failure would be reported: see notify_unless_full(). */
    async unlessFull(db: Db, wakes: Wakes): Promise<void> {
      await db.query(NOTIFY_UNLESS_FULL, [[...wakes.keys()], [...wakes.values()]]);
    },
  };
}
