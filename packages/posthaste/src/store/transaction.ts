/** Transactions of our own, always READ COMMITTED: each statement sees all earlier commits. */
import type { Connection } from "./connection.ts";
import { sql, statement } from "./sql.ts";

export const BEGIN = statement(sql`begin isolation level read committed`);
export const COMMIT = statement(sql`commit`);
export const ROLLBACK = statement(sql`rollback`);

/** For steps that must wait for each other; nothing else may use the session meanwhile. */
export async function inOneTransaction<Answer>(
  connection: Connection,
  run: () => Promise<Answer>,
): Promise<Answer> {
  await connection.query(BEGIN);
  try {
    const answer = await run();
    await connection.query(COMMIT);
    return answer;
  } catch (error) {
    await connection.query(ROLLBACK).catch(() => connection.destroy()); // the session is gone: so is its transaction
    throw error;
  }
}
