/** The program of threads for blocking tasks. */
import type { AnyTask } from "../../define/task.ts";
import type { Problem } from "../../domain/errors.ts";
import { threadEntry } from "../../runtime/thread-entry.ts";
import type { ThreadProgram } from "../../worker/execution/threads/pool-thread.ts";

/** Why a worker could not run these tasks: threads have to load them from somewhere. */
export function threadProblems(tasks: readonly AnyTask[], file: URL | undefined): Problem[] {
  if (file !== undefined) return [];
  return tasks
    .filter(({ blocking }) => blocking)
    .map(({ name }) => ({
      path: "file",
      message:
        `task "${name}" is blocking: it runs on a thread, which loads the file that makes the app, and posthaste() was ` +
        "not called from a file; put the app into one, or name it: posthaste({ file: import.meta.url, … })",
    }));
}

export function threadProgram(file: URL): ThreadProgram {
  return { entry: threadEntry("thread-main", import.meta.url), file };
}
