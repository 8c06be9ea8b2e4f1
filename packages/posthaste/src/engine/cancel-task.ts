/** Cancels a task, wherever it is. */
import { TaskStatus } from "../domain/task-lifecycle.ts";
import { announceTasks } from "./announce-tasks.ts";
import type { Database } from "./database.ts";
import type { HookRunner } from "./hooks.ts";
import { notFound } from "./read-task-info.ts";
import { repeatSafely } from "./repeat-safely.ts";

export async function cancelTask(
  database: Database,
  hooks: HookRunner,
  id: string,
): Promise<"cancelled" | "requested" | "finished"> {
  const answer = await repeatSafely(async (attempt) => {
    await database.ensureSchema();
    const said = await database.store.cancelTask(database.reads, id);
    if (said !== "finished" || attempt === 0) return said;
    // The answer to an earlier try was lost; that try may be what finished it.
    const [row] = await database.store.awaitResults.read(database.reads, [id]);
    return row?.status === TaskStatus.CANCELLED ? "cancelled" : said;
  });
  if (answer === null) throw notFound(id);
  // Behind the commit: whoever registered while the task was being cancelled is told now.
  if (answer === "cancelled") {
    announceTasks(database, hooks, { event: "taskCancelled", ids: [id] });
    await repeatSafely(() => database.store.awaitResults.notify(database.reads, [id]));
  }
  return answer;
}
