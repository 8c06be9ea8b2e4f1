/** What became of ends that were written: those that ended otherwise, and those that were not ours any more. */
import { findLostClaims } from "../engine/find-lost-claims.ts";
import { tellWaiters } from "../engine/work-cycle.ts";
import type { Connection } from "../store/connection.ts";
import type { SettleReply } from "../store/queries/settle-tasks.ts";
import { announceFound } from "./announce-runs.ts";
import type { EndedTask } from "./held-tasks.ts";
import type { RunServices } from "./run-services.ts";

export interface ReviewSettles {
  readonly services: RunServices;
  readonly connection: Connection;
  readonly settles: readonly EndedTask[];
  readonly reply: SettleReply;
  readonly onNotifyError: (error: unknown) => void;
}

/** Says in the log what was lost to another claim. The log and hooks are told of what was not. */
export async function reviewSettles(review: ReviewSettles): Promise<void> {
  const { services, connection, settles, reply, onNotifyError } = review;
  const { log, database } = services;
  const { store } = database;
  const ids = reply.overridden.map(({ id }) => id);
  tellWaiters(store, connection, ids, onNotifyError);
  if (reply.settled === settles.length) return;
  const { lost, own } = await findLostClaims(store, connection, settles);
  announceFound(services, settles, own);
  for (const { id: task, name, claimId, edge } of lost) {
    log.warn(
      { task, name, claimId, edge },
      "claim lost; the task was taken from this worker, and this late result was dropped",
    );
  }
}
