/** One task, whole, as handles and operators see it. */
import type { Database } from "../database/database.ts";
import type { TaskInfo } from "../define/task-handle.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import type { TaskStatus } from "../domain/task-lifecycle.ts";

export async function readTaskInfo(database: Database, id: string): Promise<TaskInfo> {
  await database.ensureSchema();
  const row = await database.store.readTask(database.reads, id);
  if (row === undefined) throw notFound(id);
  const { attemptNo: _, workerId, workerName, workerHostname, workerPid, progress, ...facts } = row;
  return {
    ...facts,
    progress: progress === null ? null : (JSON.parse(progress) as Json),
    status: facts.status as TaskStatus,
    worker:
      workerId === null
        ? null
        : { id: workerId, name: workerName, hostname: workerHostname, pid: workerPid },
  };
}

export function notFound(id: string): PosthasteError {
  return new PosthasteError(
    "TASK_NOT_FOUND",
    `there is no task ${id}: it was never sent, its transaction has not committed, it was pruned, ` +
      "or a failover or restore has lost it",
  );
}
