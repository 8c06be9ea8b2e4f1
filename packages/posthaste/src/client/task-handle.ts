/** A task that was sent, from the sender's side. */
import type { AnyContract } from "../define/task.ts";
import type { TaskHandle } from "../define/task-handle.ts";
import { TaskFailedError } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import { decodeResult } from "../domain/stored-result.ts";
import { cancelTask } from "../engine/cancel-task.ts";
import type { Database } from "../engine/database.ts";
import type { HookRunner } from "../engine/hooks.ts";
import { readTaskInfo } from "../engine/read-task-info.ts";
import { repeatSafely } from "../engine/repeat-safely.ts";
import { checkWait } from "./check-wait.ts";
import type { ResultWaits } from "./result-waits.ts";

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
        const said = await database.store.reportProgress.read(database.reads, id);
        return said === undefined ? null : (JSON.parse(said) as Json);
      }),
    cancel: () => cancelTask(database, hooks, id),
  };
}
