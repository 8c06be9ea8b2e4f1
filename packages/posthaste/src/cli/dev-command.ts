/**
 * `posthaste dev app.ts`: a worker that starts again when a file of the project changes. The worker is a process of its own, so that
 * the new one has loaded nothing of the old one.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, watch } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import type { Command } from "commander";
import { useEmbeddedPostgres, type EmbeddedServer } from "../app/use-embedded-postgres.ts";
import { LOG_FORMAT_VARIABLE } from "../runtime/default-logger.ts";
import { pause } from "../runtime/pause.ts";
import { WakeSignal } from "../runtime/wake-signal.ts";
import { writeToStderr } from "../runtime/write-to-stderr.ts";
import { describedCommand } from "./operator-command.ts";
import { complain, paint } from "./output.ts";
import { UsageError } from "./usage-error.ts";

/** There while an embedded server runs in the current directory. */
const RUNNING = join(".posthaste", "data", "postmaster.pid");
/** Editors write a file in several steps. */
const SETTLE_MS = 100;
/** Tasks that run longer than this return to their queue when a file changes. */
const GRACE_MS = 2_000;
/** A worker that has not stopped this long after its grace is killed: a handler blocks its event loop. */
const KILL_AFTER_MS = 4_000;
const WATCHED = /\.(?:[cm]?[jt]sx?|json)$/;
const IGNORED = ["node_modules", ".git", ".posthaste", "dist", "coverage"];

const moreHelp = `
Watches the app's folder (not node_modules, .git, .posthaste, dist, coverage). When a file changes, the worker claims no more
tasks, lets running tasks end for ${GRACE_MS / 1_000} s, gives the others back to their queue, and a new one starts.
Without --database and DATABASE_URL, the PostgreSQL in .posthaste/ runs until this command ends.`;

interface DevOptions {
  readonly database?: string;
  readonly json?: true;
}

export function devCommand(): Command {
  return describedCommand("dev", {
    description: "run a worker for development; it starts again when a file changes",
    examples: ["dev app.ts", "dev app.ts --database postgres://localhost/app"],
  })
    .argument("<app>", "the file that exports the app, e.g. app.ts")
    .option("-d, --database <url>", "the database, as DATABASE_URL (default: the embedded one)")
    .option("--json", "log lines as JSON")
    .addHelpText("after", moreHelp)
    .action(async (file: string, { database, json }: DevOptions) => {
      if (database !== undefined) process.env["DATABASE_URL"] = database;
      if (json) process.env[LOG_FORMAT_VARIABLE] = "json";
      const app = resolve(file);
      if (!existsSync(app)) throw new UsageError(`there is no file ${file}`);
      process.exitCode = await new DevelopmentWorker(app).run();
    });
}

class DevelopmentWorker {
  readonly #app: string;
  readonly #folder: string;
  readonly #wakeSignal = new WakeSignal();
  #changed: string | undefined;
  #isStopping = false;
  #server: EmbeddedServer | undefined;

  constructor(app: string) {
    this.#app = app;
    this.#folder = dirname(app);
  }

  /** Resolves when a signal has ended it. */
  async run(): Promise<number> {
    const watcher = watch(this.#folder, { recursive: true }, (_, name) => this.#onChange(name));
    const stop = (): void => {
      this.#isStopping = true;
      this.#wakeSignal.wake();
    };
    process.on("SIGINT", stop).on("SIGTERM", stop);
    try {
      while (!this.#isStopping) await this.#runOnce();
      return 0;
    } finally {
      process.off("SIGINT", stop).off("SIGTERM", stop);
      watcher.close();
      await this.#server?.release();
    }
  }

  /** One worker, from its start to the next change. A worker that ends by itself is started again after the next change. */
  async #runOnce(): Promise<void> {
    this.#changed = undefined;
    const worker = this.#spawn();
    const ended = new Promise<void>((end) => worker.once("close", () => end()));
    void ended.then(() => {
      if (this.#changed === undefined && !this.#isStopping)
        complain("the worker has ended; it starts again when a file changes");
    });
    const changed = await this.#change();
    await this.#keepDatabase();
    if (changed !== undefined) note(`${changed} changed; starting the worker again`);
    await stopped(worker, ended);
    if (!this.#isStopping) await pause(SETTLE_MS);
  }

  /** The name of a changed file; undefined: the command is stopping. */
  async #change(): Promise<string | undefined> {
    while (this.#changed === undefined && !this.#isStopping) await this.#wakeSignal.wait(Infinity);
    return this.#changed;
  }

  #spawn(): ChildProcess {
    const [, command = ""] = process.argv;
    // Supervised: it stops when this process is gone, however that ended.
    const words = ["worker", "--supervised", this.#app, "--shutdown-grace-ms", String(GRACE_MS)];
    const worker = spawn(process.execPath, [...process.execArgv, command, ...words], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    worker.on("error", (error) => complain(`could not start the worker: ${error.message}`));
    return worker;
  }

  /** The embedded server ends with its last user. This process stays one, so that the next worker finds it running. */
  async #keepDatabase(): Promise<void> {
    if (this.#server !== undefined || !existsSync(RUNNING)) return;
    this.#server = await useEmbeddedPostgres().catch(() => undefined);
  }

  #onChange(name: string | null): void {
    if (name === null || !WATCHED.test(name)) return;
    if (name.split(sep).some((part) => IGNORED.includes(part))) return;
    this.#changed ??= name;
    this.#wakeSignal.wake();
  }
}

async function stopped(worker: ChildProcess, ended: Promise<void>): Promise<void> {
  if (worker.exitCode === null && worker.signalCode === null) worker.kill("SIGTERM");
  const kill = setTimeout(() => worker.kill("SIGKILL"), GRACE_MS + KILL_AFTER_MS);
  await ended;
  clearTimeout(kill);
}

function note(line: string): void {
  writeToStderr(`${paint("cyan", "dev", process.stderr)} ${line}\n`);
}
