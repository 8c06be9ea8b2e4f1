/** Ends PENDING tasks whose deadline has passed and that nobody claims; nodes move their runs with it. */
import type { Connection } from "../store/connection.ts";
import type { Store } from "../store/store.ts";
import { moveNodes, tellNews } from "./move-nodes.ts";

/** A batch of each kind. Returns the ids of those that have expired; waiters are told. */
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
  const { moved, news } = await moveNodes(store, connection, {
    taskIds: ids,
    move: (db) => store.expireNodes.end(db, ids),
  });
  await tellNews(connection, store, news);
  return moved;
}
