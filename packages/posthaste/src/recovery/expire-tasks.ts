/** Ends PENDING tasks whose deadline has passed. Expired nodes advance their runs in the same transaction. */
import type { Connection } from "../store/connection.ts";
import type { Store } from "../store/store.ts";
import { moveNodes, sendNotifications } from "../workflows/move-nodes.ts";

/** Ends a batch of plain tasks and a batch of nodes. Returns their ids and notifies their waiters. */
export async function expireTasks(
  store: Store,
  connection: Connection,
  limit: number,
): Promise<string[]> {
  const plain = await store.expireTasks(connection, limit);
  const late = await store.expireNodes.find(connection, limit);
  const expired = [...plain, ...(await expireNodes(store, connection, late))];
  if (expired.length > 0) await store.awaitResults.notify(connection, expired);
  return expired;
}

async function expireNodes(
  store: Store,
  connection: Connection,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { moved, notifications } = await moveNodes(store, connection, {
    taskIds: ids,
    move: (db) => store.expireNodes.end(db, ids),
  });
  await sendNotifications(connection, store, notifications);
  return moved;
}
