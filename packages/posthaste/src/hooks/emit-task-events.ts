/** Calls hooks for tasks of which only the id is known. The caller does not wait for it. */
import type { Database } from "../database/database.ts";
import type { DescribedTask } from "../store/queries/read/describe-tasks.ts";
import type { HookRunner } from "./hook-runner.ts";

export type { DescribedTask };

export interface TaskEvents {
  readonly event: "taskCancelled" | "taskExpired";
  readonly ids: readonly string[];
  /** Called with all of them, whether or not there is a hook. */
  readonly onDescribed?: (tasks: readonly DescribedTask[]) => void;
}

export function emitTaskEvents(
  { store, reads }: Database,
  { emit, onUnread }: HookRunner,
  { event, ids, onDescribed }: TaskEvents,
): void {
  const tell = emit[event];
  if ((tell === undefined && onDescribed === undefined) || ids.length === 0) return;
  const describe = async (): Promise<void> => {
    const tasks = await store.describeTasks(reads, ids);
    onDescribed?.(tasks);
    for (const task of tasks) tell?.(task);
  };
  describe().catch((error: unknown) => onUnread(event, error));
}
