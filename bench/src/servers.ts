/** The servers everything is measured on: one PostgreSQL with fsync on, one Redis with its append-only file. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { useEmbeddedPostgres } from "../../packages/embedded/dist/embedded-postgres.js";
import { requireProgram } from "./programs.ts";
import { distIn, repository } from "./systems/load-posthaste.ts";
import type { Site } from "./systems/system.ts";

export interface Servers {
  readonly site: Site;
  readonly versions: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const settings = {
  shared_buffers: "1GB",
  max_connections: 200,
  max_wal_size: "4GB",
  checkpoint_timeout: "15min",
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track": "top",
};

export async function startServers({ withRedis = true } = {}): Promise<Servers> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-bench-"));
  // Not disposable: that would turn fsync off, and a queue that may lose its tasks is another product.
  const postgres = await useEmbeddedPostgres({ dir: join(folder, "postgres"), settings });
  const redis = withRedis ? await startRedis(folder) : undefined;
  return {
    site: { postgresUrl: postgres.url, redisPort: redis?.port ?? 0, dist: distIn(repository) },
    versions: {
      PostgreSQL: postgres.version,
      ...(redis === undefined ? {} : { Redis: redis.version }),
      Node: process.versions.node,
    },
    async stop() {
      await redis?.stop();
      await postgres.release();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startRedis(
  folder: string,
): Promise<{ port: number; version: string; stop(): Promise<void> }> {
  const program = requireProgram("redis-server", "redis-server");
  const port = await freePort();
  const options = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
  const durable = ["--appendonly", "yes", "--appendfsync", "everysec"];
  const child = spawn(program, [...options, ...durable], { stdio: "ignore" });
  const client = new Redis({
    port,
    lazyConnect: true,
    retryStrategy: () => 50,
    maxRetriesPerRequest: null,
  });
  client.on("error", () => undefined); // it is starting: the client goes on trying
  await client.connect().catch(() => sleep(200));
  const version = /redis_version:(\S+)/.exec(await client.info("server"))?.[1] ?? "?";
  await client.quit();
  return {
    port,
    version,
    async stop() {
      child.kill("SIGTERM");
      await new Promise((resolve) => child.once("exit", resolve));
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
