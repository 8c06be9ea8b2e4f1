import type { Logger } from "../domain/logger.ts";
import type { HeldTasks } from "./held-tasks.ts";

const MOST_NAMED = 20;

/** Results are kept no longer than the worker: what PostgreSQL has not taken by then is recovered by others, by rule. */
export function reportUnwritten({ unwritten }: HeldTasks, log: Logger): void {
  if (unwritten.length === 0) return;
  const tasks = unwritten.slice(0, MOST_NAMED).map(({ id, name }) => ({ id, name }));
  log.error(
    { count: unwritten.length, tasks },
    "ends of tasks could not be written before the worker stopped; their tasks are recovered by their rules",
  );
}
