import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { posthaste, type Posthaste } from "posthaste";
import { afterEach, beforeEach, expect, test } from "vitest";
import { killsAtOnce, mayRunTwice, runsOnce } from "../scenarios/crash-app.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";
import { silentLogger } from "../support/loggers.ts";
import { SOON_MS } from "../support/soon.ts";
import { waitUntil } from "../support/wait-until.ts";
import {
  spawnWorkerProcess,
  startWorkerProcess,
  type WorkerProcess,
} from "../support/worker-process.ts";

const db = useDatabase();
let app: Posthaste;
const appFile = fileURLToPath(new URL("../scenarios/crash-app.ts", import.meta.url));
const started: WorkerProcess[] = [];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "posthaste-crash-"));
  app = posthaste({ database: db.url, logger: silentLogger });
});

afterEach(async () => {
  await app.close();
  for (const worker of started.splice(0)) {
    worker.kill("SIGKILL");
    await worker.exited;
  }
  rmSync(folder, { recursive: true });
});

async function startWorker(): Promise<WorkerProcess> {
  const worker = await startWorkerProcess({
    app: appFile,
    args: ["--concurrency", "2"],
    env: { DATABASE_URL: db.url, SCENARIO_FOLDER: folder },
  });
  started.push(worker);
  return worker;
}

function begun(): string[] {
  try {
    return readFileSync(join(folder, "begun"), "utf8").trim().split("\n").sort();
  } catch {
    return []; // no handler has begun
  }
}

test("a killed worker is noticed in seconds: its task that may run twice runs again, the other one fails with the reason", async () => {
  const first = await startWorker();
  const [twice, once] = [await app.send(mayRunTwice), await app.send(runsOnce)];
  await waitUntil("both to begin", () => begun().length === 2);
  const second = await startWorker();
  first.kill("SIGKILL");
  const killedAt = performance.now();
  await waitUntil("the other to run it", () => begun().length === 3);
  const noticedMs = performance.now() - killedAt;
  figures("from SIGKILL to running again, with a grace of 1 s", { ms: Math.round(noticedMs) });
  expect(noticedMs).toBeLessThan(SOON_MS);
  expect(begun()).toEqual(
    [`may-run-twice ${first.pid}`, `may-run-twice ${second.pid}`, `runs-once ${first.pid}`].sort(),
  );
  expect(await once.result({ timeoutMs: 30_000 })).toMatchObject({
    ok: false,
    error: {
      code: "WORKER_CRASHED",
      message: "Task recovered after worker interruption",
      data: { pid: first.pid, thresholdMs: 1_000 },
    },
  });
  writeFileSync(join(folder, "go"), "");
  expect(await twice.value({ timeoutMs: 30_000 })).toEqual({ pid: second.pid, attempt: 2 });
  expect(await app.admin.recoveries.list()).toMatchObject([
    { reason: "worker crashed" },
    { reason: "worker crashed" },
  ]);
  const workers = await app.admin.workers.list();
  expect(workers.map(({ pid, state }) => [pid, state])).toEqual([
    [second.pid, "running"],
    [first.pid, "dead"],
  ]);
});

test("a worker that is killed before its first heartbeat is noticed in seconds: the session that registered it holds a lock", async () => {
  const handle = await app.send(killsAtOnce);
  // The liveness thread connects in vain, so it stores no heartbeat, however slowly the rest of the worker starts.
  const env = { DATABASE_URL: db.url, SESSION_URL: "postgres://127.0.0.1:1/none" };
  const { worker, started: isStarted } = spawnWorkerProcess({ app: appFile, env });
  started.push(worker);
  await Promise.allSettled([isStarted, worker.exited]);
  expect(
    await db.sql(
      "select last_heartbeat_at - started_at < '1 second' as is_first from posthaste.workers where pid = $1",
      [worker.pid],
    ),
  ).toEqual([{ is_first: true }]);
  await startWorker();
  expect(await handle.value({ timeoutMs: SOON_MS })).toBe(2);
});
