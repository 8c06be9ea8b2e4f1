/**
 * Moves tasks that are nodes, and advances their runs, in one transaction on a session of its own. A locked run or a deadlock delays no
 * plain task.
 */
import { notifyQueuesNow, type QueueHint } from "../sending/wake-workers.ts";
import type { Connection } from "../store/connection.ts";
import type { ClaimReply, ClaimRequest } from "../store/queries/claim/claim-tasks.ts";
import {
  NO_NOTIFICATIONS,
  type RunNotifications,
} from "../store/queries/workflow/advance-workflows.ts";
import type { Db } from "../store/sql.ts";
import type { Store } from "../store/store.ts";
import { BEGIN, COMMIT } from "../store/transaction.ts";

export interface MovedNodes<Moved> {
  readonly moved: Moved;
  readonly notifications: RunNotifications;
}

export interface NodeMove<Moved> {
  readonly taskIds: readonly string[];
  /** Is given a session in which the runs are locked, and sends its statement at once. */
  readonly move: (db: Db) => Promise<Moved>;
  /** A claim in the same transaction. It sees the tasks that the move has sent, and skips locked rows. */
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
    notifications: store.advanceWorkflows.advance(connection, taskIds),
    claimed: claim === undefined ? undefined : store.claimAndStart(connection, claim),
    committed: connection.query(COMMIT),
  }));
  const answers = await Promise.allSettled(Object.values<unknown>(steps));
  const failed = answers.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
  return {
    moved: await steps.moved,
    notifications: await steps.notifications,
    claimed: await steps.claimed,
  };
}

/** The same where a transaction is open already. */
export async function moveNodesWithin<Moved>(
  store: Store,
  db: Db,
  taskIds: readonly string[],
  move: (db: Db) => Promise<Moved>,
): Promise<MovedNodes<Moved>> {
  if (taskIds.length === 0) return { moved: await move(db), notifications: NO_NOTIFICATIONS };
  await store.advanceWorkflows.lock(db, taskIds);
  const moved = await move(db);
  return { moved, notifications: await store.advanceWorkflows.advance(db, taskIds) };
}

export function nodeHints({ woken }: RunNotifications): QueueHint[] {
  return woken.map(([queue, priority]) => ({ queue, priority, due: 0 }));
}

/** After the commit. Workers and waiters that miss the notification poll. */
export async function sendNotifications(
  db: Db,
  store: Store,
  notifications: RunNotifications,
): Promise<void> {
  const queueHint = nodeHints(notifications);
  if (queueHint.length > 0) await notifyQueuesNow(db, store, queueHint);
  if (notifications.ended.length > 0) await store.awaitResults.notify(db, notifications.ended);
}
