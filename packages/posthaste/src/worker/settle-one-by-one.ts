/** After a batch of ends that PostgreSQL refused: the one bad row must not keep the others from being written. */
import type { ResultCode } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import { isRepeatable } from "../engine/repeat-safely.ts";
import { tellWaiters } from "../engine/work-cycle.ts";
import type { Connection } from "../store/connection.ts";
import type { SettledTask } from "../store/queries/settle-tasks.ts";
import type { Store } from "../store/store.ts";

export interface SettledOneByOne {
  /** Dealt with; whatever is in neither list is tried again when the database is back. */
  readonly written: readonly SettledTask[];
  /** Refused in every form. */
  readonly refused: readonly SettledTask[];
}

export async function settleOneByOne(
  store: Store,
  connection: Connection,
  settles: readonly SettledTask[],
  log: Logger,
): Promise<SettledOneByOne> {
  const written: SettledTask[] = [];
  const refused: SettledTask[] = [];
  for (const settled of settles) {
    try {
      await settleOrFail(store, connection, settled, log);
      written.push(settled);
      tellWaiters(store, connection, [settled.id], () => undefined); // waiters poll
    } catch (error) {
      if (isRepeatable(error)) break;
      refused.push(settled);
      log.error(
        { taskId: settled.id, error: String(error) },
        "the end of a task could not be written; it stays RUNNING until somebody requeues or fails it",
      );
    }
  }
  return { written, refused };
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
