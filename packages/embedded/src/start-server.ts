/** Starts `postgres` on a cluster and waits until it accepts connections. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EmbeddedPostgresError } from "./errors.ts";
import { type Launch, launchProgram } from "./launch.ts";
import { type Layout, readNotes, writeNotes } from "./layout.ts";
import { disarmStalePidFile, endOrphans, findPostmaster, type Postmaster } from "./postmaster.ts";

export interface ServerOptions {
  readonly disposable: boolean;
  readonly settings: Readonly<Record<string, string | number>>;
}

/** Recovery after a crash may take its time. */
const READY_WITHIN_MS = 60_000;
const ATTEMPTS = 20;
/** In characters: enough for the reason, which stands at the end. */
const LOG_EXCERPT = 2_000;

export async function startServer(
  layout: Layout,
  launch: Launch,
  options: ServerOptions,
): Promise<Postmaster> {
  // The port of last time, if it is free: addresses that people and pools remember stay good.
  let port = Number(options.settings["port"] ?? (await freePort(readNotes(layout)?.port)));
  for (let attempt = 1; ; attempt++) {
    const { programs, version } = launch;
    writeNotes(layout, { version, programs, port, disposable: options.disposable });
    disarmStalePidFile(layout.data);
    const outcome = await tryToStart(layout, launch, serverSettings(launch, options, port));
    if ("pid" in outcome) return outcome;
    const { failure } = outcome;
    if (attempt < ATTEMPTS && failure.includes("shared memory block")) {
      endOrphans(layout.data);
      await sleep(100);
    } else if (attempt < ATTEMPTS && /already in use/.test(failure) && !options.settings["port"]) {
      port = await freePort(); // somebody took it between our look and the server's
    } else {
      throw new EmbeddedPostgresError(
        "DATABASE_UNAVAILABLE",
        `PostgreSQL did not start:\n${failure}`,
      );
    }
  }
}

/** Waits for a server that another process started, or is still ending; nothing if there is none in the end. */
export async function runningServer(layout: Layout): Promise<Postmaster | undefined> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const server = findPostmaster(layout.data);
    if (!server || server.says === "ready") return server;
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresError(
        "DATABASE_UNAVAILABLE",
        `PostgreSQL (process ${server.pid}) is "${server.says}" for more than ${READY_WITHIN_MS / 1000} s, see ${layout.log}`,
      );
    }
    await sleep(10);
  }
}

function serverSettings(launch: Launch, options: ServerOptions, port: number): string[] {
  const settings: Record<string, string | number> = {
    max_connections: 200,
    shared_buffers: "128MB",
    jit: "off",
    timezone: "UTC",
    ...(hasStatements(launch.programs) && { shared_preload_libraries: "pg_stat_statements" }),
    // Not synchronous_commit: what was committed must survive a killed server, only a power cut may take it.
    ...(options.disposable && {
      fsync: "off",
      full_page_writes: "off",
      wal_level: "minimal",
      max_wal_senders: 0,
    }),
    ...options.settings,
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/** Some distributions put it into a package of its own; a server told to load a missing library does not start. */
function hasStatements(programs: string): boolean {
  const places = ["../lib/postgresql", "../lib", "../lib64", "../lib64/postgresql"];
  return places.some((place) =>
    ["so", "dylib", "dll"].some((ending) =>
      fs.existsSync(path.join(programs, place, `pg_stat_statements.${ending}`)),
    ),
  );
}

async function tryToStart(
  layout: Layout,
  launch: Launch,
  settings: string[],
): Promise<Postmaster | { readonly failure: string }> {
  const log = fs.openSync(layout.log, "a", 0o600);
  const { size: before } = fs.fstatSync(log);
  // A process group of its own, or Ctrl-C would stop the server before its users have finished.
  const child = launchProgram(launch, ["postgres", "-D", layout.data, ...settings], {
    detached: true,
    stdio: ["ignore", log, log],
  });
  fs.closeSync(log);
  child.unref();
  const problem = await untilReady(layout, child);
  if (typeof problem !== "string") return problem;
  const said = fs.readFileSync(layout.log).subarray(before).toString().slice(-LOG_EXCERPT);
  return { failure: `${problem}, see ${layout.log}\n${said}`.trim() };
}

/** The server, or what became of it instead. */
async function untilReady(layout: Layout, child: ChildProcess): Promise<Postmaster | string> {
  let end: string | undefined;
  child.once("error", (error) => (end = error.message));
  child.once("exit", (code, signal) => (end ??= `it ended with ${signal ?? `exit code ${code}`}`));
  const deadline = performance.now() + READY_WITHIN_MS;
  while (performance.now() < deadline) {
    if (end !== undefined) return end;
    const server = findPostmaster(layout.data);
    if (server?.pid === child.pid && server?.says === "ready") return server;
    await sleep(10);
  }
  return `not ready within ${READY_WITHIN_MS / 1000} s`;
}

async function freePort(preferred = 0): Promise<number> {
  const server = net.createServer();
  try {
    await once(server.listen(preferred, "127.0.0.1"), "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new TypeError("not a TCP address");
    return address.port;
  } catch (error) {
    if (preferred === 0) throw error;
    return await freePort();
  } finally {
    server.close();
  }
}
