/** Loads the app's file inside a thread and finds its tasks. */
import { existsSync } from "node:fs";
import type { AnyTask } from "../../define/task.ts";
import { pause } from "../../runtime/pause.ts";
import type { FoundTask } from "../../worker/execution/threads/serve-calls.ts";
import { currentTask } from "../../worker/execution/uncaught-errors.ts";
import { importFile } from "../load-file.ts";
import { setThreadStage, type StagedApp } from "./thread-stage.ts";

/** Longer than a file should take. Without a limit, a top-level await that never ends would hold up its tasks unseen. */
const LOAD_LIMIT_MS = 60_000;

/** Finds tasks by name. The file is loaded once, when the first task is asked for. */
export function taskFinder(
  path: string,
  embeddedUrl: string | undefined,
): (name: string) => Promise<FoundTask> {
  let loading: Promise<LoadedFile> | undefined;
  return async (name) => {
    const { app, task } = pick(await (loading ??= loadTasks(path, embeddedUrl)), name);
    return { task, services: app.services };
  };
}

interface LoadedFile {
  /** The apps that the file has made. */
  readonly apps: readonly StagedApp[];
  /** Whether the file's own program was stopped before its end, at its first use of an app. */
  readonly isHeld: boolean;
}

async function loadTasks(path: string, embeddedUrl: string | undefined): Promise<LoadedFile> {
  if (!existsSync(path)) throw new Error("there is no such file");
  const apps: StagedApp[] = [];
  const tooLong = new AbortController();
  const held = new Promise<LoadedFile>((resolve) => {
    setThreadStage({
      apps,
      embeddedUrl,
      isInsideTask: () => currentTask() !== undefined,
      hold: () => {
        resolve({ apps, isHeld: true });
        return new Promise(() => undefined);
      },
    });
  });
  const loaded = importFile(path).then(() => ({ apps, isHeld: false }));
  const late = pause(LOAD_LIMIT_MS, tooLong.signal).then(() => {
    throw new Error(
      `it was not loaded after ${LOAD_LIMIT_MS / 1_000} s; is there an await at its top level that does not end?`,
    );
  });
  late.catch(() => undefined); // not awaited once the file is loaded
  try {
    return await Promise.race([loaded, held, late]);
  } finally {
    tooLong.abort();
  }
}

function pick({ apps, isHeld }: LoadedFile, name: string): PickedTask {
  if (apps.length === 0) {
    throw new Error(
      "it makes no app; expected `export const app = posthaste({ … })` there, " +
        "or `posthaste({ file: import.meta.url, … })` where the app is made, naming the file that a thread is to load",
    );
  }
  const all = new Map(apps.flatMap((app) => app.tasks.map((task) => [task, app] as const)));
  const [picked, another] = [...all].filter(([task]) => task.name === name);
  if (picked === undefined) {
    const known = [...all.keys()].map((each) => `"${each.name}"`).join(", ");
    const why = isHeld
      ? "; a thread stops at the first use of an app at the file's top level, and makes nothing below it"
      : "";
    throw new Error(`it has no task named "${name}" (it has ${known || "none"})${why}`);
  }
  if (another !== undefined) {
    throw new Error(
      `its apps have different tasks named "${name}"; give each app a file of its own`,
    );
  }
  const [task, app] = picked;
  return { task, app };
}

interface PickedTask {
  readonly task: AnyTask;
  readonly app: StagedApp;
}
