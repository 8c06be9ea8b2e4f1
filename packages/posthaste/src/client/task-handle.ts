/** A task that was sent, from the sender's side. */
import type { AnyContract } from "../define/task.ts";
import type { TaskHandle, WaitOptions } from "../define/task-handle.ts";
import { PosthasteError, TaskFailedError } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import { shown } from "../domain/option-reader.ts";
import { decodeResult } from "../domain/stored-result.ts";
import { cancelTask } from "../engine/cancel-task.ts";
import type { Database } from "../engine/database.ts";
import type { HookRunner } from "../engine/hooks.ts";
import { readTaskInfo } from "../engine/read-task-info.ts";
import { repeatSafely } from "../engine/repeat-safely.ts";
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

function checkWait(options: WaitOptions | undefined): void {
  const timeoutMs: unknown = options?.timeoutMs;
  if (
    timeoutMs === undefined ||
    (typeof timeoutMs === "number" && timeoutMs >= 0 && timeoutMs <= LONGEST_WAIT_MS)
  ) {
    return;
  }
  throw PosthasteError.of("VALIDATION_FAILED", "cannot wait", [
    {
      path: "timeoutMs",
      message: `expected milliseconds from 0 to ${LONGEST_WAIT_MS}, found ${shown(timeoutMs)}`,
    },
  ]);
}

/** The longest timer there is. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;
