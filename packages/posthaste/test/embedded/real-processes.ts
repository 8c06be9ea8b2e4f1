import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Client } from "pg";
import { test } from "vitest";
import {
  type EmbeddedOptions,
  type EmbeddedPostgres,
  useEmbeddedPostgres,
} from "../../../embedded/src/embedded-postgres.ts";

export const isRoot = process.getuid?.() === 0;

export async function until<T>(what: string, look: () => T, withinMs = 60_000): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = look();
    if (seen) return seen;
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(10);
  }
}

export async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client(url);
  client.on("error", () => {}); // a test may stop the server under it
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return rows.map((row) => Object.values(row)[0]);
  } finally {
    await client.end();
  }
}

export interface UserOutput {
  readonly url: string;
  readonly version: string;
  readonly started: boolean;
  readonly fresh: boolean;
  readonly answer: number;
  readonly failure?: string;
}

export interface UserProcess {
  readonly child: ChildProcess;
  readonly output: Promise<UserOutput>;
  /** Resolves when the process has ended by itself. */
  release(): Promise<void>;
  kill(): Promise<void>;
}

export interface Surroundings {
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly gid?: number;
  readonly cwd?: string;
}

/** What a test puts up, taken down after it in the opposite order, also when it fails. */
export class Stage {
  readonly #cleanups: (() => unknown)[] = [];

  async clear(): Promise<void> {
    for (const cleanup of this.#cleanups.toReversed()) await cleanup();
  }

  afterwards(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup);
  }

  /** 0755, so that as root another account can reach it. */
  directory(mode = 0o755): string {
    const prefix = path.join(os.tmpdir(), "posthaste-embedded-");
    const directory = fs.realpathSync(fs.mkdtempSync(prefix));
    fs.chmodSync(directory, mode);
    this.afterwards(() => fs.rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
    return directory;
  }

  async use(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
    const server = await useEmbeddedPostgres(options);
    this.afterwards(() => server.release());
    return server;
  }

  program(file: string, words: readonly string[], surroundings: Surroundings = {}): ChildProcess {
    const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
    const program = path.join(path.dirname(fileURLToPath(import.meta.url)), file);
    const child = spawn(process.execPath, ["--import", loader, program, ...words], {
      stdio: ["pipe", "pipe", "inherit"],
      ...surroundings,
      env: { ...process.env, ...surroundings.env },
    });
    this.afterwards(() => child.kill("SIGKILL"));
    return child;
  }

  user(options: EmbeddedOptions, surroundings?: Surroundings): UserProcess {
    const child = this.program("user-process.ts", [JSON.stringify(options)], surroundings);
    if (!child.stdout) throw new Error("no pipe");
    const ended = once(child, "exit");
    const lines = createInterface({ input: child.stdout });
    const output = Promise.race([
      once(lines, "line").then(([line]) => JSON.parse(String(line)) as UserOutput),
      ended.then(([code, signal]) => Promise.reject(new Error(`ended: ${code ?? signal}`))),
    ]);
    output.catch(() => {}); // those that are killed on purpose are not asked
    return {
      child,
      output,
      release: async () => {
        child.stdin?.write("release\n");
        const [code] = await ended;
        if (code !== 0) throw new Error(`the user process ended with ${code}`);
      },
      kill: async () => {
        child.kill("SIGKILL");
        await ended;
      },
    };
  }
}

export const it = test.extend<{ stage: Stage }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the names of the fixtures it needs from this pattern
  stage: async ({}, provide) => {
    const stage = new Stage();
    await provide(stage);
    await stage.clear();
  },
});

/** Pids of the processes that serve a directory: the server's and the keeper. Zombies are left out. */
export function processesOf(directory: string): number[] {
  const data = path.join(directory, "data");
  return findProcesses(
    (words, pid) =>
      words.includes(directory) || fs.readlinkSync(`/proc/${pid}/cwd`).startsWith(data),
  );
}

export function keeperOf(directory: string): number {
  const found = findProcesses((words) => words.at(-2) === directory);
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} keepers`);
  return found[0];
}

function findProcesses(isWanted: (words: readonly string[], pid: string) => boolean): number[] {
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return isWanted(fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0"), pid);
      } catch {
        return false; // The process has ended, or is a zombie.
      }
    })
    .map(Number);
}

export function postmasterOf(directory: string): number {
  return parseInt(fs.readFileSync(path.join(directory, "data", "postmaster.pid"), "utf8"), 10);
}

export async function kill(...pids: number[]): Promise<void> {
  for (const pid of pids) process.kill(pid, "SIGKILL");
  for (const pid of pids) await until(`${pid} is dead`, () => isDead(pid));
}

export function isDead(pid: number): boolean {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8") === "";
  } catch {
    return true;
  }
}

/** Files that stand for a process: all must be gone when the last user is. */
export function traces(directory: string): string[] {
  return ["lock", "users", "keepers"].flatMap((list) => {
    const place = path.join(directory, list);
    return fs.existsSync(place) ? fs.readdirSync(place) : [];
  });
}
