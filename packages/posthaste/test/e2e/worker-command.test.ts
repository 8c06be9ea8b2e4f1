import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";

const db = useDatabase();
// Inside the package, so that the app written here finds "posthaste".
const folder = mkdtempSync(fileURLToPath(new URL(".worker-apps-", import.meta.url)));
const app = join(folder, "app.ts");
writeFileSync(
  app,
  `import { defineTask, posthaste } from "posthaste";
   setInterval(() => undefined, 1_000); // a timer that a careless app leaves running
   export const app = posthaste({ tasks: [defineTask({ name: "greet", run: () => "hello" })] });`,
);

let worker: WorkerProcess | undefined;

afterEach(() => worker?.kill("SIGKILL"));
afterAll(() => rmSync(folder, { recursive: true }));

async function start(args: readonly string[], env: Record<string, string> = {}) {
  worker = await startWorkerProcess({
    app,
    args: ["--log-level", "debug", ...args],
    env: { DATABASE_URL: db.url, ...env },
  });
  return worker;
}

function configOf({ log }: WorkerProcess): unknown {
  return log.find(({ message }) => message === "effective config")?.["config"];
}

test("flags reach the worker, and its log shows its concurrency config", async () => {
  const flags = `--concurrency 8 --queues mail,bulk other --queue-priorities mail=1,bulk=50
    --queue-max-concurrency bulk=5 --max-claim-batch 3 --max-claim-per-worker 6 --coalesce-notifies 7 --threads 2
    --name ada --shutdown-grace-ms 100`;
  const started = await start(flags.split(/\s+/));
  const { log } = started;

  expect(log.map(({ message }) => message)).toContain(
    "Concurrency config: concurrency=8, cluster_wide_cap=none, max_claim_per_worker=6, max_claim_batch=3",
  );
  expect(configOf(started)).toMatchObject({
    "worker.queues": ["mail", "bulk", "other"],
    "worker.queuePriorities": { mail: 1, bulk: 50, other: 100 },
    "worker.queueMaxConcurrency": { bulk: 5 },
    "worker.coalesceNotifies": 7,
    "worker.threads": 2,
    "worker.name": "ada",
    "worker.shutdownGraceMs": 100,
  });
  expect(JSON.stringify(log)).not.toContain(`:${new URL(db.url).password}@`);
});

test("a flag wins over its environment variable", async () => {
  const env = { POSTHASTE_CONCURRENCY: "3", POSTHASTE_QUEUES: "a,b", POSTHASTE_THREADS: "4" };
  const started = await start(["--threads", "5"], env);

  expect(configOf(started)).toMatchObject({
    "worker.concurrency": 3,
    "worker.queues": ["a", "b"],
    "worker.threads": 5,
  });
});

test("a timer that the app leaves open does not keep the command alive after the worker has stopped", async () => {
  const started = await start([]);
  started.kill("SIGTERM");
  expect(await started.exited).toBe(0);
});
