/** A task that was sent, from the sender's side. */
import type { Database } from "../database/database.ts";
import { repeatSafely } from "../database/repeat-safely.ts";
import type { TaskHandle } from "../define/task-handle.ts";
import type { AnyContract } from "../define/task.ts";
import { TaskFailedError } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import { decodeResult } from "../domain/result.ts";
import type { HookRunner } from "../hooks/hook-runner.ts";
import { cancelTask } from "./cancel-task.ts";
import { readTaskInfo } from "./read-task-info.ts";
import { checkWait, type ResultWaits } from "./result-waits.ts";

export function taskHandle<T extends AnyContract>(
  database: Database,
  waits: ResultWaits,
  hooks: HookRunner,
  id: string,
): TaskHandle<T> {
  const result: TaskHandle<T>["result"] = async (options) => {
    checkWait(options);
    return decodeResult(await waits.wait(id, options));
  };
  return {
    id,
    result,
    async value(options) {
      const ended = await result(options);
      if (ended.ok) return ended.value;
      throw new TaskFailedError(id, ended.error);
    },
    info: () => repeatSafely(() => readTaskInfo(database, id)),
    progress: () =>
      repeatSafely(async () => {
        await database.ensureSchema();
        const report = await database.store.reportProgress.read(database.reads, id);
        return report === undefined ? null : (JSON.parse(report) as Json);
      }),
    cancel: () => cancelTask(database, hooks, id),
  };
}
