/** What the threads for blocking tasks run. */
import { createRequire } from "node:module";
import { extname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { AnyTask } from "../../define/task.ts";
import type { Problem } from "../../domain/errors.ts";
import type { ThreadProgram } from "../../worker/threads/pool-thread.ts";
import { understandsTypeScript } from "../load-file.ts";

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

/**
 * Published, the thread's entry is .js. In this repository it may be .ts, which a Node that does not strip types cannot run:
 * then jiti loads it. Loaders that the process was started with are no help, tsx for one leaves threads alone on Node 20.
 */
export function threadProgram(file: URL): ThreadProgram {
  const extension = extname(fileURLToPath(import.meta.url));
  const entry = new URL(`./thread-main${extension}`, import.meta.url);
  if (extension !== ".ts" || understandsTypeScript()) return { entry, file };
  const jiti = pathToFileURL(createRequire(import.meta.url).resolve("jiti")).href;
  const program = `
    import { createJiti } from ${JSON.stringify(jiti)};
    await createJiti(${JSON.stringify(entry.href)}).import(${JSON.stringify(entry.href)});`;
  return { entry: new URL(`data:text/javascript,${encodeURIComponent(program)}`), file };
}
