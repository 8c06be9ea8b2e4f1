/** Joins a transaction of the caller, which must be in the app's own database. */
import type { CallersTransaction } from "../define/send-options.ts";
import { joinTransaction, otherDatabase } from "../store/callers-transaction.ts";
import type { DatabaseIdentity } from "../store/queries/send/identify-database.ts";
import type { Db } from "../store/sql.ts";
import type { Database } from "./database.ts";

/** Throws VALIDATION_FAILED if `tx` is not in a transaction. The statement that follows checks the database. */
export async function joinCallers(database: Database, tx: CallersTransaction): Promise<Db> {
  await database.ensureSchema();
  return joinTransaction(tx, database.store.schema);
}

/** One round trip, for callers whose first statement cannot check it. */
export async function requireOwnDatabase(database: Database, db: Db): Promise<void> {
  const found = await database.store.identifyDatabase(db);
  await inOwnDatabase(database, async (home) => isSame(found, home));
}

/**
 * `write` stores nothing and returns false unless its transaction is in the database `home`. Undefined: the server does not tell the
 * identity of ours.
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
