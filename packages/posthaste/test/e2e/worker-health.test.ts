/** Probes of a worker in a process of its own, and its log format. */
import { createServer } from "node:net";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { runPosthaste, useAppFiles } from "../support/command-line.ts";
import { useDatabase } from "../support/database.ts";
import { spawnWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";

const db = useDatabase();
const app = useAppFiles()(
  "app.ts",
  `import { defineTask, posthaste } from "posthaste";
   export const app = posthaste({ tasks: [defineTask({ name: "greet", run: () => "hello" })] });`,
);

let worker: WorkerProcess | undefined;
afterEach(() => worker?.kill("SIGKILL"));

/** A worker that the test ends itself, perhaps before it has started. */
function spawnOnly(args: readonly string[], url: string): WorkerProcess {
  const spawned = spawnWorkerProcess({ app, args, env: { DATABASE_URL: url } });
  spawned.started.catch(() => undefined);
  return spawned.worker;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

async function probe(port: number, path: string) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: response.status, body: (await response.json()) as object };
}

test("a worker is live and ready, and is gone when it has stopped", async () => {
  const port = await freePort();
  const spawned = spawnWorkerProcess({
    app,
    args: ["--health-port", String(port), "--name", "ada"],
    env: { DATABASE_URL: db.url },
  });
  worker = spawned.worker;
  await spawned.started;

  expect(await probe(port, "/live")).toEqual({ status: 200, body: { live: true } });
  expect(await probe(port, "/ready")).toMatchObject({
    status: 200,
    body: { name: "ada", isReady: true, reasons: [] },
  });
  expect((await probe(port, "/")).status).toBe(404);

  worker.kill("SIGTERM");
  expect(await worker.exited).toBe(0);
  await expect(probe(port, "/live")).rejects.toThrow("fetch failed");
});

test("a worker that waits for its database is live and not ready", async () => {
  const port = await freePort();
  worker = spawnOnly(["--health-port", String(port)], "postgres://ada@127.0.0.1:1/none");

  const status = async (): Promise<number> => (await probe(port, "/live")).status;
  await expect.poll(() => status().catch(() => 0)).toBe(200);
  expect(await probe(port, "/ready")).toMatchObject({
    status: 503,
    body: { reasons: ["it is not registered yet", "the database does not answer"] },
  });
});

test("worker refuses a port that is taken, and --health-port beside --processes", async () => {
  const taken = createServer().listen(0);
  await once(taken, "listening");
  const { port } = taken.address() as { port: number };
  const env = { DATABASE_URL: db.url };
  const flag = ["--health-port", String(port)];
  const refused = await runPosthaste(env, "worker", app, ...flag);
  taken.close();
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(`${port} cannot be used`);
  const several = await runPosthaste(env, "worker", app, ...flag, "--processes", "2");
  expect(several.code).toBe(2);
  expect(several.stderr).toContain("--health-port is about one worker");
});

test("--log-format text writes readable lines, also before the worker is made", async () => {
  worker = spawnOnly(["--log-format", "text"], db.url);
  const lines = (): string => worker?.log.map(({ message }) => String(message)).join("\n") ?? "";
  await expect.poll(lines).toContain("worker started");
  expect(lines()).toMatch(/^[\d:.]+ info {2}using the configured database {2}url=postgres/m);
  expect(lines()).toMatch(/^[\d:.]+ info {2}worker started {2}worker=\S+ name=/m);
});
