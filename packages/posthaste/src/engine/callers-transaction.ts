/** Joining a transaction of the caller's, which must be one of the app's own database. */
import type { CallersTransaction } from "../define/send-options.ts";
import { joinTransaction, otherDatabase } from "../store/callers-transaction.ts";
import type { DatabaseIdentity } from "../store/queries/identify-database.ts";
import type { Db } from "../store/sql.ts";
import type { Database } from "./database.ts";

/** Throws VALIDATION_FAILED for what is no transaction. Whether it is one of our database, what follows finds out. */
export async function joinCallers(database: Database, tx: CallersTransaction): Promise<Db> {
  await database.ensureSchema();
  return joinTransaction(tx, database.store.schema);
}

/** One round trip: for what cannot find out inside its own first statement. */
export async function requireOwnDatabase(database: Database, db: Db): Promise<void> {
  const found = await database.store.identifyDatabase(db);
  await inOwnDatabase(database, async (home) => isSame(found, home));
}

/**
 * `write` stores nothing and answers false unless its transaction is in the database that it is told. Undefined: the server
 * does not say which one ours is.
 */
export async function inOwnDatabase(
  database: Database,
  write: (home: DatabaseIdentity | undefined) => Promise<boolean>,
): Promise<void> {
  if (await write(await database.identity())) return;
  if (!(await write(await database.identity({ again: true })))) throw otherDatabase();
}

function isSame(found: DatabaseIdentity | undefined, home: DatabaseIdentity | undefined): boolean {
  if (found === undefined || home === undefined) return true;
  return found.system === home.system && found.oid === home.oid;
}
