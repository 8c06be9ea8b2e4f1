/** A real PostgreSQL without any setup: found or brought by npm, started on demand, stopped when nobody uses it. */
import fs from "node:fs";
import path from "node:path";
import { ensureCluster, readPassword, SUPERUSER } from "./cluster.ts";
import { EmbeddedPostgresError } from "./errors.ts";
import { chooseLaunch } from "./launch.ts";
import { type Layout, openDirectory, readNotes, writeNotes } from "./layout.ts";
import { withLock } from "./lock.ts";
import type { Postmaster } from "./postmaster.ts";
import { announce, type Presence, withdraw } from "./presence.ts";
import { startKeeper } from "./start-keeper.ts";
import { runningServer, startServer } from "./start-server.ts";
import { stopIfUnused } from "./stop-if-unused.ts";

export { EmbeddedPostgresError, type EmbeddedPostgresErrorCode } from "./errors.ts";

/** Settings and binaries count for the call that starts the server, not for those that attach to it. */
export interface EmbeddedOptions {
  /** Directory that holds data, password and log. Default: `.posthaste` in the current directory. */
  readonly dir?: string;
  /** A throw-away server for tests: no fsync. The directory is removed after the server stops. */
  readonly disposable?: boolean;
  /** Extra server settings, e.g. `{ max_connections: 300 }`. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Which binaries. Default: npm, else installed. The variable `POSTHASTE_POSTGRES_BIN` goes before both. */
  readonly binaries?: "npm" | "installed";
}

export interface EmbeddedPostgres {
  /** `postgres://user:password@127.0.0.1:port/postgres` */
  readonly url: string;
  /** Absolute. */
  readonly directory: string;
  /** Such as "18.4". */
  readonly version: string;
  /** False: the server was already running. */
  readonly started: boolean;
  /** True: this call made the data directory. */
  readonly fresh: boolean;
  /**
   * The caller needs it no longer; the server stops when nobody does. Idempotent. Resolves, if this was the last user, when
   * the server has stopped.
   */
  release(): Promise<void>;
}

/** Starts the server of a directory, or attaches to it. Each call is a user of its own, also within one process. */
export async function useEmbeddedPostgres(
  options: EmbeddedOptions = {},
): Promise<EmbeddedPostgres> {
  const layout = openDirectory(options.dir ?? ".posthaste");
  return withLock(layout, async () => {
    keepOutOfGit(layout);
    const running = await runningServer(layout);
    const user = announce(layout.users);
    try {
      const server = running ? await attach(layout, running) : await start(layout, options);
      return handle(layout, user, server);
    } catch (error) {
      withdraw(user);
      await stopIfUnused(layout);
      throw error;
    }
  });
}

interface Server {
  readonly postmaster: Postmaster;
  readonly version: string;
  readonly started: boolean;
  readonly fresh: boolean;
}

async function attach(layout: Layout, postmaster: Postmaster): Promise<Server> {
  await startKeeper(layout); // the one there was may have been killed
  return { postmaster, version: readNotes(layout)?.version ?? "", started: false, fresh: false };
}

async function start(layout: Layout, options: EmbeddedOptions): Promise<Server> {
  const { disposable = false, settings = {}, binaries } = options;
  if (disposable) refuseToRemove(layout);
  const launch = chooseLaunch(layout, binaries);
  const { version, programs } = launch;
  writeNotes(layout, { port: 0, ...readNotes(layout), version, programs, disposable });
  // Before anything runs that would outlive us if we were killed now.
  await startKeeper(layout);
  const fresh = await ensureCluster(layout, launch);
  const postmaster = await startServer(layout, launch, { disposable, settings });
  return { postmaster, version, started: true, fresh };
}

function handle(layout: Layout, user: Presence, server: Server): EmbeddedPostgres {
  const { postmaster, version, started, fresh } = server;
  const login = `${SUPERUSER}:${readPassword(layout)}`;
  let released: Promise<void> | undefined;
  return {
    url: `postgres://${login}@127.0.0.1:${postmaster.port}/postgres`,
    directory: layout.root,
    version,
    started,
    fresh,
    release: () => (released ??= release(layout, user)),
  };
}

async function release(layout: Layout, user: Presence): Promise<void> {
  withdraw(user);
  if (!fs.existsSync(layout.root)) return; // deleted by hand: the keeper sees to the server
  await withLock(layout, () => stopIfUnused(layout));
}

/** What was there before must not go with a throw-away server. */
function refuseToRemove(layout: Layout): void {
  if (readNotes(layout)?.disposable === true) return;
  const ours = [GITIGNORE, path.basename(layout.lock), path.basename(layout.users)];
  const [found] = fs.readdirSync(layout.root).filter((name) => !ours.includes(name));
  if (found === undefined) return;
  throw new EmbeddedPostgresError(
    "CONFIG_INVALID",
    `A disposable PostgreSQL removes its directory at the end, but ${layout.root} contains other files (${found})`,
  );
}

const GITIGNORE = ".gitignore";

/** It holds a password. */
function keepOutOfGit({ root }: Layout): void {
  const file = path.join(root, GITIGNORE);
  if (!fs.existsSync(file)) fs.writeFileSync(file, "*\n");
}
