/** Storing tasks whose ids are new: by COPY where enough of them travel together, else by the statement that takes all kinds. */
import { isUniqueViolation } from "../store/pg-errors.ts";
import type { Db, OwnDb } from "../store/sql.ts";
import { rowText, type OutgoingTask } from "./compose-task.ts";
import type { Database } from "./database.ts";

/**
 * From here on it is no slower: of 8 callers, 1.0 times the sends a second with 346 instead of 430 B of log; of 16, 1.03 times
 * with 335 instead of 428; of 256, 1.2 times (medians of six interleaved pairs). Four at a time are slower: the server asks
 * for the rows of each table, and each time wakes both sides, though they are on their way.
 */
const FEWEST_COPIED = 8;

/** In a transaction if one is open, else in one of their own: all or none. */
export function storeFresh(
  { store }: Database,
  db: OwnDb,
  tasks: readonly OutgoingTask[],
): Promise<void> {
  return isCopied(db, tasks)
    ? store.copyTasks(db, tasks)
    : store.insertTasks.fresh(db, rowsText(tasks));
}

/** COPY computes nothing, so that a delay is not for it, and refuses all where one may stand already. */
export function isCopied(
  { isOurs }: Pick<OwnDb, "isOurs">,
  tasks: readonly OutgoingTask[],
): boolean {
  return (
    isOurs &&
    tasks.length >= FEWEST_COPIED &&
    tasks.every(({ mayExist, dueText }) => !mayExist && dueText === "")
  );
}

export async function insertFresh(
  database: Database,
  db: OwnDb,
  tasks: readonly OutgoingTask[],
): Promise<void> {
  try {
    await storeFresh(database, db, tasks);
  } catch (error) {
    // Ids are random: one that exists is our own, from a try whose acknowledgement was lost.
    if (!isUniqueViolation(error)) throw error;
    await insertMissing(database, db, tasks);
  }
}

export async function insertMissing(
  database: Database,
  db: Db,
  tasks: readonly OutgoingTask[],
): Promise<void> {
  await database.store.insertTasks.missing(db, rowsText(tasks));
}

export function rowsText(tasks: readonly OutgoingTask[]): string {
  return `[${tasks.map(rowText).join(",")}]`;
}
