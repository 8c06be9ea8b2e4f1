/** After a batch of ends that PostgreSQL refused: the one bad row must not keep the others from being written. */
import type { ResultCode } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import { isRepeatable } from "../engine/repeat-safely.ts";
import { tellWaiters } from "../engine/work-cycle.ts";
import type { Connection } from "../store/connection.ts";
import type { Link } from "../store/link.ts";
import type { SettledTask } from "../store/queries/settle-tasks.ts";
import type { Store } from "../store/store.ts";
import type { HeldTasks } from "./held-tasks.ts";

export interface SettleOneByOne {
  readonly store: Store;
  readonly link: Link;
  readonly settles: readonly SettledTask[];
  readonly held: HeldTasks;
  readonly log: Logger;
}

/** True if any of them is dealt with now. What is not is tried again when the database is back. */
export async function settleOneByOne(asked: SettleOneByOne): Promise<boolean> {
  const { store, link, settles, held, log } = asked;
  const connection = await link.connection().catch(() => undefined); // the loop tries again
  if (connection === undefined) return false;
  let isAnyDone = false;
  for (const settled of settles) {
    try {
      await settleOrFail(store, connection, settled, log);
      held.written([settled]);
      tellWaiters(store, connection, [settled.id], () => undefined); // waiters poll
    } catch (error) {
      if (isRepeatable(error)) break;
      held.giveUpOn(settled);
      log.error(
        { taskId: settled.id, error: String(error) },
        "the end of a task could not be written; it stays RUNNING until it is recovered",
      );
    }
    isAnyDone = true;
  }
  return isAnyDone;
}

/** Where the value is what PostgreSQL refuses (too large, too deep), the task fails and says so. */
async function settleOrFail(
  store: Store,
  connection: Connection,
  settled: SettledTask,
  log: Logger,
): Promise<void> {
  try {
    await store.settleTasks(connection, [settled]);
  } catch (refusal) {
    if (isRepeatable(refusal)) throw refusal;
    const { id, claimId, ran } = settled;
    const code: ResultCode = "WORKER_SERIALIZATION_ERROR";
    const reason = refusal instanceof Error ? refusal.message : String(refusal);
    const error = JSON.stringify({ code, message: `PostgreSQL refused the result: ${reason}` });
    await store.settleTasks(connection, [{ id, claimId, edge: "fail", ran, code, error }]);
    log.warn({ taskId: id, error: reason }, "PostgreSQL refused a task's result; the task failed");
  }
}
