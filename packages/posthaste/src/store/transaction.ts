/** Transactions of our own, always READ COMMITTED: each statement in them sees what was committed before it. */
import { PosthasteError } from "../domain/errors.ts";
import type { Connection } from "./connection.ts";
import { sql, statement, type Db } from "./sql.ts";

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

/** The shape of define/send-options.ts's CallersTransaction. */
export interface Queryable {
  query(text: string, values: unknown[]): Promise<{ readonly rows: unknown[] }>;
}

/** A caller's transaction as our port. Never a named statement: the session is not ours to leave things behind in. */
export function joinTransaction(tx: Queryable): Db {
  if (typeof tx !== "object" || tx === null || typeof tx.query !== "function") {
    throw PosthasteError.of("VALIDATION_FAILED", "nothing was sent", [
      {
        path: "options.tx",
        message:
          "expected a pg client inside a transaction, or anything with its query(text, values)",
      },
    ]);
  }
  return {
    async query<Row extends object>({ text }: { text: string }, values: readonly unknown[] = []) {
      const { rows } = await tx.query(text, [...values]);
      return rows as Row[];
    },
  };
}
