/**
 * The database falls silent: connections stay open, new ones are accepted, and no answer comes. A worker process that is
 * told to stop then exits in time, and calls that are under way in another process end when its app is closed.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { posthaste, PosthasteError, type Posthaste } from "posthaste";
import { startFaultProxy } from "../support/fault-proxy.ts";
import { silentLogger } from "../support/loggers.ts";
import { startStoppableServer } from "../support/stoppable-server.ts";
import { waitUntil } from "../support/wait-until.ts";
import { hold, nap } from "./recovery-app.ts";
import { RecoveryStage } from "./recovery-stage.ts";

/** Where the database can be made silent. */
export interface SilentStage {
  readonly url: string;
  /** Resolves when nothing is answered any more. */
  fallSilent(): Promise<void>;
  /** Answers again: what was asked meanwhile may be lost. */
  speak(): Promise<void>;
}

export interface SilentDatabaseReport {
  readonly graceMs: number;
  /** From SIGTERM to the exit of the worker that had running tasks and a result to write. */
  readonly busyExitMs: number;
  readonly busyExitCode: number | string;
  /** The same of a worker that had nothing to do. */
  readonly idleExitMs: number;
  readonly idleExitCode: number | string;
  /** What calls ended with that were under way when their app was closed. */
  readonly calls: Readonly<Record<string, string>>;
  /** From `app.close()` until it resolved, all calls having ended. */
  readonly closeMs: number;
}

const GRACE_MS = 2_000;

export async function stopWhileSilent(stage: SilentStage): Promise<SilentDatabaseReport> {
  return RecoveryStage.use(stage.url, {}, async (recovery) => {
    const { app } = recovery;
    const grace = ["--shutdown-grace-ms", String(GRACE_MS)];
    const idle = await recovery.start("--queues", "idle", ...grace);
    const busy = await recovery.start("--queues", "default", "--concurrency", "4", ...grace);
    const held = await app.send(hold);
    await app.sendMany(nap, [600_000, 1_500]);
    await app.send(nap, 0, { key: "opens its session", queue: "unserved" });
    await waitUntil("the tasks to run", () => recovery.runs().length === 3, 60_000);
    await stage.fallSilent();
    const calls = underWay(app, held);
    await sleep(2_000); // the short nap has ended, and its result cannot be written
    try {
      const exits = [busy, idle].map(async (worker) => {
        const at = performance.now();
        worker.kill("SIGTERM");
        return { code: await worker.exited, ms: Math.round(performance.now() - at) };
      });
      const closeAt = performance.now();
      await app.close();
      const ended = await calls;
      const closeMs = Math.round(performance.now() - closeAt);
      const [busyExit, idleExit] = await Promise.all(exits);
      return {
        graceMs: GRACE_MS,
        busyExitMs: busyExit?.ms ?? NaN,
        busyExitCode: busyExit?.code ?? "none",
        idleExitMs: idleExit?.ms ?? NaN,
        idleExitCode: idleExit?.code ?? "none",
        calls: ended,
        closeMs,
      };
    } finally {
      await stage.speak();
    }
  });
}

/** Begun on sessions that are open already, and now say nothing. */
async function underWay(
  app: Posthaste,
  held: { result(): Promise<unknown> },
): Promise<Record<string, string>> {
  const calls = {
    send: app.send(nap, 1),
    "keyed send": app.send(nap, 1, { key: "a" }),
    sendMany: app.sendMany(nap, [1, 2]),
    result: held.result(),
    "queues.list": app.admin.queues.list(),
  };
  const ended = Object.entries(calls).map(
    async ([name, call]) => [name, await call.then(() => "resolved", codeOf)] as const,
  );
  return Object.fromEntries(await Promise.all(ended));
}

function codeOf(error: unknown): string {
  return error instanceof PosthasteError ? error.code : String(error);
}

/** A network that swallows every byte and closes nothing. */
export async function throughSilentProxy<Answer>(
  url: string,
  use: (stage: SilentStage) => Promise<Answer>,
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const proxy = await startFaultProxy({
    target: { host: hostname, port: Number(port) },
    toServer: () => "none",
    toClient: () => "none",
  });
  const through = new URL(url);
  through.port = String(proxy.port);
  try {
    return await use({
      url: through.href,
      fallSilent: async () => proxy.swallow(),
      speak: async () => proxy.speak(),
    });
  } finally {
    await proxy.close();
  }
}

/** A server whose every process is stopped by SIGSTOP: its kernel still accepts connections. */
export async function onFrozenServer<Answer>(
  use: (stage: SilentStage) => Promise<Answer>,
): Promise<Answer> {
  const server = await startStoppableServer();
  const signal = (name: "SIGSTOP" | "SIGCONT"): void => {
    const postmaster = server.postmasterPid();
    for (const pid of [postmaster, ...childrenOf(postmaster)]) {
      try {
        process.kill(pid, name);
      } catch {
        // a backend that has ended since it was listed
      }
    }
  };
  try {
    await using app = posthaste({ database: server.url, logger: silentLogger });
    await app.ensureSchema();
    return await use({
      url: server.url,
      fallSilent: async () => signal("SIGSTOP"),
      speak: async () => signal("SIGCONT"),
    });
  } finally {
    signal("SIGCONT");
    await server.remove();
  }
}

/** The fourth field of /proc/<pid>/stat is the parent; the second may hold spaces, in parentheses. */
function childrenOf(parent: number): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const [, ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(ppid) === parent ? [Number(pid)] : [];
    } catch {
      return []; // it has ended meanwhile
    }
  });
}
