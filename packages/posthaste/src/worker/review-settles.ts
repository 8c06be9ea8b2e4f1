/** What became of ends that were written: those that ended otherwise, and those that were not ours any more. */
import type { Logger } from "../domain/logger.ts";
import { findLostClaims } from "../engine/find-lost-claims.ts";
import { tellWaiters } from "../engine/work-cycle.ts";
import type { Connection } from "../store/connection.ts";
import type { SettledTask, SettleReply } from "../store/queries/settle-tasks.ts";
import type { Store } from "../store/store.ts";

export interface ReviewSettles {
  readonly store: Store;
  readonly connection: Connection;
  readonly log: Logger;
  readonly settles: readonly SettledTask[];
  readonly reply: SettleReply;
  readonly onNotifyError: (error: unknown) => void;
}

/** Says in the log, each once: cancelled meanwhile, too late to retry, or lost to another claim. */
export async function reviewSettles(review: ReviewSettles): Promise<void> {
  const { store, connection, log, settles, reply, onNotifyError } = review;
  for (const { id, status } of reply.overridden) {
    log.info({ taskId: id, status }, "task ended otherwise");
  }
  const ids = reply.overridden.map(({ id }) => id);
  tellWaiters(store, connection, ids, onNotifyError);
  if (reply.settled === settles.length) return;
  for (const { id, claimId, edge } of await findLostClaims(store, connection, settles)) {
    log.warn(
      { taskId: id, claimId, edge },
      "claim lost: the task belongs to somebody else by now, and this late result was dropped",
    );
  }
}
