/**
 * Moves tasks that are nodes of runs, and with them their runs: in one transaction, in a lane of its own. What waits here
 * for the lock of a run, or is the victim of a deadlock, holds up no plain task.
 */
import type { Connection } from "../store/connection.ts";
import { NO_NEWS, type RunNews } from "../store/queries/advance-workflows.ts";
import { BEGIN, COMMIT } from "../store/transaction.ts";
import type { Db } from "../store/sql.ts";
import type { Store } from "../store/store.ts";
import { wakeQueues, type Landed } from "./wake-workers.ts";

export interface MovedNodes<Moved> {
  readonly moved: Moved;
  readonly news: RunNews;
}

/** One round trip. `move` is given a session in which the runs are locked, and sends its statement at once. */
export async function moveNodes<Moved>(
  store: Store,
  connection: Connection,
  taskIds: readonly string[],
  move: (db: Db) => Promise<Moved>,
): Promise<MovedNodes<Moved>> {
  const steps = connection.together(() => [
    connection.query(BEGIN),
    store.advanceWorkflows.lock(connection, taskIds),
    move(connection),
    store.advanceWorkflows.advance(connection, taskIds),
    connection.query(COMMIT),
  ]) as [unknown, unknown, Promise<Moved>, Promise<RunNews>, unknown];
  const failed = (await Promise.allSettled(steps)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
  return { moved: await steps[2], news: await steps[3] };
}

/** The same where a transaction is open already. */
export async function moveNodesWithin<Moved>(
  store: Store,
  db: Db,
  taskIds: readonly string[],
  move: (db: Db) => Promise<Moved>,
): Promise<MovedNodes<Moved>> {
  if (taskIds.length === 0) return { moved: await move(db), news: NO_NEWS };
  await store.advanceWorkflows.lock(db, taskIds);
  const moved = await move(db);
  return { moved, news: await store.advanceWorkflows.advance(db, taskIds) };
}

export function landedNodes({ woken }: RunNews): Landed[] {
  return woken.map(([queue, priority]) => ({ queue, priority, due: 0 }));
}

/** After the commit. Who is not told finds out by polling. */
export async function tellNews(db: Db, store: Store, news: RunNews): Promise<void> {
  const landed = landedNodes(news);
  if (landed.length > 0) await wakeQueues(db, store, landed);
  if (news.ended.length > 0) await store.awaitResults.notify(db, news.ended);
}
