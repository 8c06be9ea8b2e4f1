/** What the scenarios about effects stand on: the user's tables, a sender, and worker processes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { posthaste, type Posthaste } from "posthaste";
import { silentLogger } from "../support/loggers.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";
import { effectTables } from "./effects-app.ts";

export interface EffectsStage {
  readonly sql: pg.Pool;
  readonly app: Posthaste;
  /** Where handlers write what a SIGKILL must not undo. */
  readonly folder: string;
  readonly startWorker: (concurrency: number) => Promise<WorkerProcess>;
}

/** Tables and processes are gone afterwards. */
export async function withEffects<Report>(
  url: string,
  use: (stage: EffectsStage) => Promise<Report>,
): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-effects-"));
  const sql = new pg.Pool({ connectionString: url });
  sql.on("error", () => undefined); // the server may go before the last idle connection does
  const app = posthaste({ database: url, logger: silentLogger });
  const workers = new Set<WorkerProcess>();
  try {
    await app.ensureSchema();
    await sql.query(effectTables);
    return await use({
      sql,
      app,
      folder,
      async startWorker(concurrency) {
        const worker = await startWorkerProcess({
          app: fileURLToPath(new URL("effects-app.ts", import.meta.url)),
          args: ["--concurrency", String(concurrency)],
          env: { DATABASE_URL: url, SCENARIO_FOLDER: folder },
        });
        workers.add(worker);
        return worker;
      },
    });
  } finally {
    for (const worker of workers) worker.kill("SIGKILL");
    await Promise.all([...workers].map(({ exited }) => exited));
    await app.close();
    await sql.query("drop table effects, begun, cancelled, aborted");
    await sql.end();
    rmSync(folder, { recursive: true });
  }
}
