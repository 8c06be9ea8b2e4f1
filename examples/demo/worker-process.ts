/** A worker as its own process, run by the command line as a user would. */
import { spawn, type ChildProcess } from "node:child_process";
import { createWriteStream } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface WorkerProcess {
  readonly name: string;
  /** Exit code, or the signal that ended it. */
  readonly exited: Promise<number | string>;
  kill(signal: NodeJS.Signals): void;
}

const command = join(
  dirname(createRequire(import.meta.url).resolve("posthaste/package.json")),
  "bin/posthaste.js",
);
const app = fileURLToPath(new URL("app.ts", import.meta.url));

export function startWorker(name: string, logFolder: string): WorkerProcess {
  const child: ChildProcess = spawn(
    process.execPath,
    [command, "worker", app, "--concurrency", "10", "--name", name],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  child.stderr?.pipe(createWriteStream(join(logFolder, `${name}.log`)));
  const exited = new Promise<number | string>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "gone"));
  });
  return { name, exited, kill: (signal) => child.kill(signal) };
}
