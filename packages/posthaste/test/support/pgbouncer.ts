/** Debian's pgbouncer in transaction mode, in front of a server. See scripts/install-pgbouncer.sh. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntil } from "./wait-until.ts";

export interface Pgbouncer {
  /** The server's URL, with pgbouncer's address. */
  readonly url: string;
  stop(): Promise<void>;
}

export async function startPgbouncer(serverUrl: string): Promise<Pgbouncer> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-pgbouncer-"));
  const port = await freePort();
  const server = new URL(serverUrl);
  const file = (name: string): string => join(folder, name);
  writeFileSync(
    file("users.txt"),
    `"${server.username}" "${decodeURIComponent(server.password)}"\n`,
  );
  writeFileSync(file("pgbouncer.ini"), settings(server, port, file("users.txt")));
  const account = unprivileged();
  for (const path of [folder, file("users.txt"), file("pgbouncer.ini")]) {
    chmodSync(path, path === folder ? 0o700 : 0o600);
    if (account !== undefined) chownSync(path, account.uid, account.gid);
  }
  const child = spawn("pgbouncer", ["-q", file("pgbouncer.ini")], {
    ...account,
    cwd: folder,
    env: { PATH: `${process.env["PATH"] ?? ""}:/usr/sbin` },
    stdio: ["ignore", "ignore", "inherit"],
  });
  let failure: string | undefined;
  child.once("error", (error) => {
    failure = `${error.message}; sh scripts/install-pgbouncer.sh installs it`;
  });
  child.once("exit", (code) => (failure ??= `pgbouncer exited with ${String(code)}`));
  await waitUntil("pgbouncer to listen", () => {
    if (failure !== undefined) throw new Error(failure);
    return accepts(port);
  });
  const url = new URL(serverUrl);
  url.port = String(port);
  return {
    url: url.href,
    async stop() {
      const gone = once(child, "exit");
      child.kill("SIGQUIT"); // at once, whoever is connected
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function settings(server: URL, port: number, users: string): string {
  return `[databases]
* = host=${server.hostname} port=${server.port}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 30
; By default it does not look for a server that was away for 15 s.
server_login_retry = 1
log_connections = 0
log_disconnections = 0
log_pooler_errors = 0
`;
}

/** pgbouncer refuses to run as root. */
function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync("/etc/passwd", "utf8").split("\n");
  const fields = ["postgres:", "nobody:"]
    .map((name) => accounts.find((line) => line.startsWith(name))?.split(":"))
    .find((found) => found !== undefined);
  if (fields === undefined) throw new Error("pgbouncer needs an account postgres or nobody");
  return { uid: Number(fields[2]), gid: Number(fields[3]) };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}
