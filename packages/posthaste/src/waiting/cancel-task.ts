/** Cancels a task, wherever it is. */
import type { Database } from "../database/database.ts";
import { repeatSafely } from "../database/repeat-safely.ts";
import { TaskStatus } from "../domain/task-lifecycle.ts";
import { emitTaskEvents } from "../hooks/emit-task-events.ts";
import type { HookRunner } from "../hooks/hook-runner.ts";
import { notFound } from "./read-task-info.ts";

export async function cancelTask(
  database: Database,
  hooks: HookRunner,
  id: string,
): Promise<"cancelled" | "requested" | "finished"> {
  const outcome = await repeatSafely(async (tries) => {
    await database.ensureSchema();
    const answer = await database.store.cancelTask(database.reads, id);
    if (answer !== "finished" || tries === 0) return answer;
    // The answer to an earlier try was lost; that try may have cancelled it.
    const [row] = await database.store.awaitResults.read(database.reads, [id]);
    return row?.status === TaskStatus.CANCELLED ? "cancelled" : answer;
  });
  if (outcome === null) throw notFound(id);
  // After the commit: this also notifies waiters that registered during the cancellation.
  if (outcome === "cancelled") {
    emitTaskEvents(database, hooks, { event: "taskCancelled", ids: [id] });
    await repeatSafely(() => database.store.awaitResults.notify(database.reads, [id]));
  }
  return outcome;
}
