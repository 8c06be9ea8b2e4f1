/** Tells hooks, and who else wants to know, of tasks of which only the id is known. The caller does not wait for that. */
import type { DescribedTask } from "../store/queries/describe-tasks.ts";
import type { Database } from "./database.ts";
import type { HookRunner } from "./hooks.ts";

export type { DescribedTask };

export interface Announcement {
  readonly event: "taskCancelled" | "taskExpired";
  readonly ids: readonly string[];
  /** Told of all of them, whether or not there is a hook. */
  readonly onDescribed?: (tasks: readonly DescribedTask[]) => void;
}

export function announceTasks(
  { store, reads }: Database,
  { emit, onError }: HookRunner,
  { event, ids, onDescribed }: Announcement,
): void {
  const tell = emit[event];
  if ((tell === undefined && onDescribed === undefined) || ids.length === 0) return;
  const describe = async (): Promise<void> => {
    const tasks = await store.describeTasks(reads, ids);
    onDescribed?.(tasks);
    for (const task of tasks) tell?.(task);
  };
  describe().catch((error: unknown) => onError(event, error));
}
