/** The reader of a worker's log may go away before the worker does: a log collector dies, a terminal is closed. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { posthaste, type Posthaste } from "posthaste";
import { afterEach, beforeEach, expect, test } from "vitest";
import { pidOfBody, recordRun, waitForGo } from "../scenarios/worker-app.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";

const db = useDatabase();
useCleanTables(db);
const workerApp = fileURLToPath(new URL("../scenarios/worker-app.ts", import.meta.url));

let folder: string;
let app: Posthaste;
let worker: WorkerProcess;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "posthaste-lost-log-"));
  app = posthaste({ database: db.url, logger: silentLogger });
  worker = await startWorkerProcess({
    app: workerApp,
    env: { DATABASE_URL: db.url, SCENARIO_FOLDER: folder },
  });
});

afterEach(async () => {
  worker.kill("SIGKILL");
  await worker.exited;
  await app.close();
  rmSync(folder, { recursive: true });
});

/** Ends the worker's connections. The worker logs that, and no process reads its log. */
async function makeItSpeak(): Promise<void> {
  await db.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'posthaste%' and pid <> pg_backend_pid()`,
  );
}

test("a worker whose log has lost its reader runs tasks, and stops in good order", async () => {
  worker.stopReading();
  await makeItSpeak();

  const handle = await app.send(recordRun, { n: 1 });
  expect(await handle.value({ timeoutMs: 30_000 })).toEqual({ n: 1 });

  worker.kill("SIGTERM");
  expect(await worker.exited).toBe(0);
});

test("a worker that first writes to its lost log when it stops lets its running task end, and exits with 0", async () => {
  const handle = await app.send(waitForGo);
  await waitUntil("the handler to begin", () => pidOfBody(folder));
  worker.stopReading();
  worker.kill("SIGTERM");
  await waitUntil("the worker to be stopping", async () => {
    const [row] = await db.sql<{ state: string }>("select state from posthaste.workers");
    return row?.state === "stopping";
  });
  writeFileSync(join(folder, "go"), "");

  expect(await worker.exited).toBe(0);
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({ ok: true });
});
