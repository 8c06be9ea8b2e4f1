/**
 * Moves tasks that are nodes of runs, and with them their runs: in one transaction, in a lane of its own. What waits here
 * for the lock of a run, or is the victim of a deadlock, holds up no plain task.
 */
import type { Connection } from "../store/connection.ts";
import { NO_NEWS, type RunNews } from "../store/queries/advance-workflows.ts";
import type { ClaimReply, ClaimRequest } from "../store/queries/claim-tasks.ts";
import { BEGIN, COMMIT } from "../store/transaction.ts";
import type { Db } from "../store/sql.ts";
import type { Store } from "../store/store.ts";
import { wakeQueues, type Landed } from "./wake-workers.ts";

export interface MovedNodes<Moved> {
  readonly moved: Moved;
  readonly news: RunNews;
}

export interface NodeMove<Moved> {
  readonly taskIds: readonly string[];
  /** Is given a session in which the runs are locked, and sends its statement at once. */
  readonly move: (db: Db) => Promise<Moved>;
  /** What a worker takes in the same transaction. It finds what the move has sent, and waits for nobody. */
  readonly claim?: ClaimRequest | undefined;
}

/** One round trip. */
export async function moveNodes<Moved>(
  store: Store,
  connection: Connection,
  { taskIds, move, claim }: NodeMove<Moved>,
): Promise<MovedNodes<Moved> & { readonly claimed: ClaimReply | undefined }> {
  const steps = connection.together(() => ({
    begun: connection.query(BEGIN),
    locked: store.advanceWorkflows.lock(connection, taskIds),
    moved: move(connection),
    news: store.advanceWorkflows.advance(connection, taskIds),
    claimed: claim === undefined ? undefined : store.claimAndStart(connection, claim),
    committed: connection.query(COMMIT),
  }));
  const answers = await Promise.allSettled(Object.values<unknown>(steps));
  const failed = answers.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
  return { moved: await steps.moved, news: await steps.news, claimed: await steps.claimed };
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
