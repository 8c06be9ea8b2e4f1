import { sql, statement, type Db } from "../sql.ts";

const NOW = statement(sql`select date_part('epoch', clock_timestamp()) * 1000 as "now"`);

/** The server's clock, in milliseconds since 1970. */
export async function readClock(db: Db): Promise<number> {
  const [row] = await db.query<{ now: number }>(NOW);
  return row?.now ?? Number.NaN;
}
