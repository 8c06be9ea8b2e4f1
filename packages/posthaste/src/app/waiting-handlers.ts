/**
 * Warns when a handler waits for another task while no slot of its process is free: with a concurrency of 1 it waits for itself, and
 * nothing would ever say so.
 */
import { currentTask } from "../worker/execution/uncaught-errors.ts";

/** A shorter wait is no news. */
const PATIENCE_MS = 5_000;

export function warnWaitingHandlers(
  workers: ReadonlySet<{ readonly isFull: boolean }>,
): (id: string) => (() => void) | undefined {
  return (waitsFor) => {
    const task = currentTask();
    if (task === undefined) return undefined;
    const timer = setTimeout(() => {
      if ([...workers].some(({ isFull }) => !isFull)) return;
      task.log.warn(
        { waitsFor },
        "handler waits for another task but this process has no free slot; raise concurrency or use a workflow",
      );
    }, PATIENCE_MS).unref();
    return () => clearTimeout(timer);
  };
}
