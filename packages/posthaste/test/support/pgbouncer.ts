/** Debian's pgbouncer in front of a server, in transaction mode; installed by scripts/install-pgbouncer.sh. */
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";

export interface Pgbouncer {
  /** The same database, through the pooler. */
  url(direct: string): string;
  stop(): Promise<void>;
}

export async function startPgbouncer(serverUrl: string): Promise<Pgbouncer> {
  if (spawnSync("pgbouncer", ["--version"]).status !== 0) {
    throw new Error("expected pgbouncer in the PATH, found none: run scripts/install-pgbouncer.sh");
  }
  const server = new URL(serverUrl);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "posthaste-pgbouncer-"));
  const password = server.password === "" ? "" : ` password=${decodeURIComponent(server.password)}`;
  const where = server.searchParams.get("host") ?? (server.hostname || "127.0.0.1");
  writeFileSync(
    join(folder, "pgbouncer.ini"),
    `[databases]
* = host=${where} port=${server.port || 5432} user=${server.username}${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 500
default_pool_size = 8
server_login_retry = 1
`,
  );
  chmodSync(folder, 0o755);
  // It refuses to run as root.
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const child = spawn("pgbouncer", ["-q", join(folder, "pgbouncer.ini")], {
    ...account,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = (direct: string): string => {
    const through = new URL(direct);
    through.searchParams.delete("host");
    return `postgres://pooled@127.0.0.1:${port}${through.pathname}`;
  };
  await untilItAnswers(url(serverUrl), () => said);
  return {
    url,
    async stop() {
      child.kill("SIGINT");
      await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, 2_000))]);
      child.kill("SIGKILL");
      await exited;
      rmSync(folder, { recursive: true });
    },
  };
}

async function untilItAnswers(url: string, said: () => string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const client = new pg.Client(url);
    client.on("error", () => undefined);
    try {
      await client.connect();
      await client.query("select 1");
      await client.end();
      return;
    } catch (error) {
      if (tries > 100) throw new Error(`pgbouncer does not answer: ${said()}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0));
    });
  });
}
