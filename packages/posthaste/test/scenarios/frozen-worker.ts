/**
 * A worker is frozen with SIGSTOP in the middle of a task. The task is requeued and completed by another worker. The
 * frozen one wakes up and finishes late: that must change nothing, and its log must say so.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { posthaste } from "posthaste";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess } from "../support/worker-process.ts";
import { waitForGo } from "./worker-app.ts";

export interface FrozenWorkerReport {
  readonly resultBefore: unknown;
  readonly resultAfter: unknown;
  readonly rowsChanged: boolean;
  readonly attempts: readonly string[];
  readonly zombieSaid: string;
  readonly zombiePid: number;
  readonly ownerPid: number;
}

export async function frozenWorker(url: string): Promise<FrozenWorkerReport> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-frozen-"));
  const client = new pg.Client(url);
  await client.connect();
  const app = posthaste({ database: url, logger: silentLogger });
  const workerApp = fileURLToPath(new URL("worker-app.ts", import.meta.url));
  const env = { DATABASE_URL: url, SCENARIO_FOLDER: folder };
  const zombie = await startWorkerProcess({ app: workerApp, env });
  try {
    const handle = await app.send(waitForGo);
    await waitUntil("the handler to begin", () => existsSync(join(folder, "begun")));
    zombie.kill("SIGSTOP");
    await waitUntil("the process to stop", () => processState(zombie.pid) === "T");

    await client.query("select posthaste.requeue($1)", [handle.id]);
    const owner = await startWorkerProcess({ app: workerApp, env });
    writeFileSync(join(folder, "go"), "");
    const resultBefore = await handle.result({ timeoutMs: 30_000 });
    const before = await everyRow(client, handle.id);

    zombie.kill("SIGCONT");
    const line = await waitUntil("the zombie to say that its claim was lost", () =>
      zombie.log.find(
        ({ message }) =>
          String(message).startsWith("claim lost") && String(message).includes("dropping"),
      ),
    );
    const after = await everyRow(client, handle.id);
    const info = await handle.info();
    // It goes on: it is a healthy worker with one result too many.
    owner.kill("SIGTERM");
    await owner.exited;
    await (await app.send(waitForGo)).result({ timeoutMs: 30_000 });
    return {
      resultBefore,
      resultAfter: await handle.result({ timeoutMs: 30_000 }),
      rowsChanged: before !== after,
      attempts: info.attempts.map(({ attempt, outcome }) => `${attempt} ${outcome}`),
      zombieSaid: String(line["message"]),
      zombiePid: zombie.pid,
      ownerPid: owner.pid,
    };
  } finally {
    zombie.kill("SIGCONT");
    zombie.kill("SIGTERM");
    await zombie.exited;
    await app.close();
    await client.end();
    rmSync(folder, { recursive: true });
  }
}

/** The third field of /proc/<pid>/stat. */
function processState(pid: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.charAt(0);
}

async function everyRow(client: pg.Client, id: string): Promise<string> {
  const tables = ["submissions", "ready_tasks", "active_tasks", "finished_tasks", "attempts"];
  const rows: unknown[] = [];
  for (const table of tables) {
    rows.push(
      (await client.query(`select * from posthaste.${table} where task_id = $1`, [id])).rows,
    );
  }
  return JSON.stringify(rows);
}
