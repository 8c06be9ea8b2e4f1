/** Tells hooks of tasks of which only the id is known. Nobody waits for that. */
import type { Database } from "./database.ts";
import type { HookRunner } from "./hooks.ts";

export function announceTasks(
  { store, reads }: Database,
  { emit, onError }: HookRunner,
  event: "taskCancelled" | "taskExpired",
  ids: readonly string[],
): void {
  const tell = emit[event];
  if (tell === undefined || ids.length === 0) return;
  const describe = async (): Promise<void> => {
    for (const task of await store.describeTasks(reads, ids)) tell(task);
  };
  describe().catch((error: unknown) => onError(event, error));
}
