/** Storing tasks whose ids are new: by COPY where enough of them travel together, else by the statement that takes all kinds. */
import type { Database } from "../database/database.ts";
import { isUniqueViolation } from "../store/pg-errors.ts";
import type { Db, OwnDb } from "../store/sql.ts";
import { rowText, type OutgoingTask } from "./compose-task.ts";

/**
 * From this many on COPY is no slower, and writes a fifth less log: 8 callers send 1.12 times (0.84–1.47, six interleaved pairs) as
 * much, 16 callers 1.01 times (0.76–1.57, thirteen), 256 callers 1.23 times (0.94–1.34, six). With fewer,
 * COPY costs Node more than it saves PostgreSQL: the server asks for the rows of each table, and each request wakes Node.
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

/** COPY cannot compute a due time, and one existing row makes it fail as a whole. */
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
  return `[${tasks.map((task) => rowText(task)).join(",")}]`;
}
