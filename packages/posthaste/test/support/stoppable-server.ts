/** A PostgreSQL of its own that is stopped and started again under its users, at the same address. fsync is on. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import {
  useEmbeddedPostgres,
  type EmbeddedOptions,
  type EmbeddedPostgres,
} from "../../../embedded/src/embedded-postgres.ts";
import { chooseLaunch, launchProgram } from "../../../embedded/src/launch.ts";
import { layoutOf, type Layout } from "../../../embedded/src/layout.ts";

export interface StoppableServer {
  readonly url: string;
  readonly directory: string;
  /** As `pg_ctl stop -m immediate` does: no goodbye, no checkpoint; the next start recovers. */
  stopAtOnce(): Promise<void>;
  /** Refuses whoever comes, and stops when the last session has ended. Resolves when it has been told. */
  beginToStop(): Promise<void>;
  /** Resolves when it accepts connections. */
  startAgain(): Promise<void>;
  /** Stops it for good; its data stays. */
  stop(): Promise<void>;
  postmasterPid(): number;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

export async function startStoppableServer({
  dir = mkdtempSync(join(tmpdir(), "posthaste-outage-")),
  settings = {},
}: Pick<EmbeddedOptions, "dir" | "settings"> = {}): Promise<StoppableServer> {
  const users: EmbeddedPostgres[] = [];
  const start = async (): Promise<EmbeddedPostgres> => {
    const server = await useEmbeddedPostgres({ dir, settings });
    users.push(server);
    return server;
  };
  const { url, directory } = await start();
  const layout = layoutOf(directory);
  const stop = async (): Promise<void> => {
    for (const user of users) await user.release();
  };
  return {
    url,
    directory,
    stopAtOnce: () => pgCtl(layout, "stop", "-w", "-m", "immediate"),
    beginToStop: () => pgCtl(layout, "stop", "-W", "-m", "smart"),
    postmasterPid: () =>
      Number(readFileSync(join(layout.data, "postmaster.pid"), "utf8").split("\n")[0]),
    async startAgain() {
      const again = await start();
      if (again.url !== url) throw new Error("the server came back at another address");
    },
    stop,
    async remove() {
      await stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function pgCtl(layout: Layout, ...words: readonly string[]): Promise<void> {
  const launch = chooseLaunch(layout, undefined);
  const child = launchProgram(launch, ["pg_ctl", ...words, "-D", layout.data], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (child.stderr === null) throw new TypeError("pg_ctl was started without a pipe");
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  if (code !== 0) {
    throw new Error(`pg_ctl ${words.join(" ")} exited with ${String(code)}: ${said}`);
  }
}
