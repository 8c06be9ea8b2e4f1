/**
 * A worker process is killed while PostgreSQL cannot write ends: how many finished tasks does that cost? The ends that were on their
 * way are written when the lock is gone, although the worker is dead.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { posthaste } from "posthaste";
import { askDatabase } from "../support/ask-database.ts";
import { blockEnds, unblockEnds } from "../support/block-ends.ts";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess } from "../support/worker-process.ts";
import { note } from "./killed-with-ends-app.ts";

export interface KilledWithEndsReport {
  readonly concurrency: number;
  /** Handlers that had finished when the worker was killed. */
  readonly finished: number;
  /** Of these: tasks whose result is stored in the end. */
  readonly kept: number;
  /** Of these: tasks that failed because their worker crashed. */
  readonly lost: number;
}

const TASKS = 100;
const CONCURRENCY = 5;

export async function killedWithEnds(url: string): Promise<KilledWithEndsReport> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-ends-"));
  await using app = posthaste({ database: url, logger: silentLogger });
  await app.ensureSchema();
  const start = () =>
    startWorkerProcess({
      app: fileURLToPath(new URL("killed-with-ends-app.ts", import.meta.url)),
      args: ["--concurrency", String(CONCURRENCY)],
      env: { DATABASE_URL: url, SCENARIO_FOLDER: folder },
    });
  try {
    const finished = await askDatabase(url, async (holder) => {
      await blockEnds(holder);
      const victim = await start();
      await app.sendMany(
        note,
        Array.from({ length: TASKS }, (_, n) => n),
      );
      await waitUntil("handlers to finish", () => ledger(folder).length >= CONCURRENCY);
      let before = 0;
      while (before !== ledger(folder).length) {
        before = ledger(folder).length;
        await sleep(1_000);
      }
      victim.kill("SIGKILL");
      await victim.exited;
      await unblockEnds(holder);
      return ledger(folder);
    });
    const survivor = await start();
    const isOver = (): Promise<boolean> =>
      askDatabase(url, async (client) => {
        const { rows } = await client.query("select from posthaste.finished_tasks");
        return rows.length === TASKS;
      });
    await waitUntil("every task to end", isOver, 120_000);
    survivor.kill("SIGTERM");
    await survivor.exited;
    const statuses = await askDatabase(url, async (client) => {
      const { rows } = await client.query<{ status: string }>(
        "select status from posthaste.tasks where id = any ($1::uuid[])",
        [finished],
      );
      return rows.map(({ status }) => status);
    });
    return {
      concurrency: CONCURRENCY,
      finished: finished.length,
      kept: statuses.filter((status) => status === "COMPLETED").length,
      lost: statuses.filter((status) => status === "FAILED").length,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The ids of tasks whose handlers have finished. */
function ledger(folder: string): string[] {
  try {
    return readFileSync(join(folder, "ledger"), "utf8").trim().split("\n");
  } catch {
    return []; // none has finished
  }
}
