/** Tasks that a running task sends: created only while its claim is held, in the same transaction as that is made sure. */
import { requireOwnDatabase } from "../database/callers-transaction.ts";
import type { Database } from "../database/database.ts";
import { TaskAborted } from "../domain/task-aborted.ts";
import type { Outcome } from "../runtime/coalescer.ts";
import { claimKey, type Claim } from "../store/queries/claim/stored-claims.ts";
import type { Db } from "../store/sql.ts";
import { inOneTransaction } from "../store/transaction.ts";
import type { OutgoingTask } from "./compose-task.ts";
import {
  inLockOrder,
  insertOrMatch,
  queueHint,
  outcomesOf,
  bisectOnError,
  sendInTransaction,
  type SentId,
} from "./send-tasks.ts";
import type { WorkerWaker } from "./wake-workers.ts";

export interface ChildTask {
  readonly parent: Claim;
  readonly task: OutgoingTask;
}

export function sendChildren(
  database: Database,
  waker: WorkerWaker,
  children: readonly ChildTask[],
): Promise<Outcome<SentId>[]> {
  return bisectOnError(children, (some, repeat) =>
    repeat(async () => {
      await database.ensureSchema();
      const connection = await database.childSends.connection();
      const outcomes = await inOneTransaction(connection, () =>
        insertHeld(database, connection, some),
      );
      waker.notify(
        connection,
        some.map(({ task }) => queueHint(task)),
      );
      return outcomes;
    }),
  );
}

/** Joins the caller's transaction; the claim is held until it ends. */
export async function sendChildInTransaction(
  database: Database,
  db: Db,
  { parent, task }: ChildTask,
): Promise<SentId> {
  const held = await database.store.holdParents(db, [parent]);
  if (held.size === 0) {
    await requireOwnDatabase(database, db);
    throw new TaskAborted("CLAIM_LOST");
  }
  const [id] = await sendInTransaction(database, db, [task]);
  return id ?? task.id;
}

async function insertHeld(
  database: Database,
  db: Db,
  children: readonly ChildTask[],
): Promise<Outcome<SentId>[]> {
  const parents = new Map(children.map(({ parent }) => [claimKey(parent), parent]));
  const held = await database.store.holdParents(db, [...parents.values()]);
  const allowed = children
    .filter(({ parent }) => held.has(claimKey(parent)))
    .map(({ task }) => task);
  const stored = await insertOrMatch(database, db, inLockOrder(allowed));
  const answers = new Map(outcomesOf(allowed, stored).map((outcome, n) => [allowed[n], outcome]));
  return children.map(({ task }) => answers.get(task) ?? { error: new TaskAborted("CLAIM_LOST") });
}
