import type { TestDatabase } from "../support/database.ts";

/** Resolves when so many sessions of this database wait for a lock. Asks again at once: the wait is a matter of µs. */
export async function untilWaiting(db: Pick<TestDatabase, "sql">, sessions: number): Promise<void> {
  for (const end = Date.now() + 60_000; ;) {
    const [row] = await db.sql<{ waiting: number }>(
      `select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    );
    if (row?.waiting === sessions) return;
    if (Date.now() > end)
      throw new Error(`${row?.waiting} sessions wait for a lock, not ${sessions}`);
  }
}
