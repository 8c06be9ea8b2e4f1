/** A worker in a process of its own, started by the built command as a user would. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const command = fileURLToPath(new URL("../../bin/posthaste.js", import.meta.url));

export interface WorkerProcess {
  readonly pid: number;
  /** Every line of its log so far. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  readonly exited: Promise<number | string>;
  kill(signal: NodeJS.Signals): void;
  /** As when its log collector dies: nobody is at the other end of its stderr any more. */
  stopReading(): void;
}

export interface WorkerProcessOptions {
  readonly app: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Resolves when the worker says that it has started. */
export async function startWorkerProcess(options: WorkerProcessOptions): Promise<WorkerProcess> {
  const { worker, started } = spawnWorkerProcess(options);
  await started;
  return worker;
}

/** For whoever may want to end it before it has started: `started` rejects if it exits before. */
export function spawnWorkerProcess(options: WorkerProcessOptions): {
  readonly worker: WorkerProcess;
  readonly started: Promise<void>;
} {
  const child = spawn(process.execPath, [command, "worker", options.app, ...(options.args ?? [])], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, ...options.env },
  });
  const log: Record<string, unknown>[] = [];
  const exited = once(child, "exit").then(([code, signal]) => (code ?? signal) as number | string);
  let rest = "";
  const started = new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.stderr.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        log.push(
          line.startsWith("{") ? (JSON.parse(line) as Record<string, unknown>) : { message: line },
        );
        if (log.at(-1)?.["message"] === "worker started") resolve();
      }
    });
    void exited.then((code) =>
      reject(new Error(`the worker exited with ${code}: ${JSON.stringify(log)}`)),
    );
  });
  if (child.pid === undefined) throw new Error("the worker has no pid");
  const worker = {
    pid: child.pid,
    log,
    exited,
    kill: (signal: NodeJS.Signals): void => void child.kill(signal),
    stopReading: (): void => void child.stderr.destroy(),
  };
  return { worker, started };
}
