/** The tasks a worker can run, by name. A Map, because a task may be called "constructor". */
import type { AnyTask } from "../define/task.ts";

export type TaskRegistry = ReadonlyMap<string, AnyTask>;

export function taskRegistry(tasks: readonly AnyTask[]): TaskRegistry {
  return new Map(tasks.map((task) => [task.name, task]));
}
