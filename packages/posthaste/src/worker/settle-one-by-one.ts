/** After a batch of ends that PostgreSQL refused: the one bad row must not keep the others from being written. */
import type { ResultCode } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import { isRepeatable } from "../engine/repeat-safely.ts";
import { tellWaiters } from "../engine/work-cycle.ts";
import type { Connection } from "../store/connection.ts";
import type { SettledTask } from "../store/queries/settle-tasks.ts";
import type { Store } from "../store/store.ts";

/** Returns those that are dealt with; the others are tried again when the database is back. */
export async function settleOneByOne(
  store: Store,
  connection: Connection,
  settles: readonly SettledTask[],
  log: Logger,
): Promise<SettledTask[]> {
  const dealtWith: SettledTask[] = [];
  for (const settled of settles) {
    try {
      await store.settleTasks(connection, [settled]);
    } catch (error) {
      if (isRepeatable(error)) return dealtWith;
      if (!(await settleAsRefused(store, connection, settled, error))) {
        log.error(
          { taskId: settled.id, error: String(error) },
          "the end of a task could not be written",
        );
        continue;
      }
      log.warn(
        { taskId: settled.id, error: String(error) },
        "PostgreSQL refused a task's result; the task failed",
      );
    }
    dealtWith.push(settled);
    tellWaiters(store, connection, [settled.id], () => undefined); // waiters poll
  }
  return dealtWith;
}

/** The value is what PostgreSQL refused (too large, too deep): the task fails and says so. */
async function settleAsRefused(
  store: Store,
  connection: Connection,
  { id, claimId, ran }: SettledTask,
  refusal: unknown,
): Promise<boolean> {
  const code: ResultCode = "WORKER_SERIALIZATION_ERROR";
  const message = `PostgreSQL refused the result: ${refusal instanceof Error ? refusal.message : String(refusal)}`;
  try {
    const error = JSON.stringify({ code, message });
    await store.settleTasks(connection, [{ id, claimId, edge: "fail", ran, code, error }]);
    return true;
  } catch {
    return false; // the caller reports the first refusal, which is the one that matters
  }
}
