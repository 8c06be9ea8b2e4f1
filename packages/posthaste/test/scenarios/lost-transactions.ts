/**
 * Twenty tasks have opened the connections of `ctx.transaction` and given them back; twenty others use them now. The server
 * ends the sessions of some. Only the handlers that use those connections may notice, and they may try again.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { posthaste, type TaskHandle } from "posthaste";
import { askDatabase } from "../support/ask-database.ts";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess } from "../support/worker-process.ts";
import { bystander, user } from "./lost-transactions-app.ts";

export interface LostTransactionsReport {
  readonly bystanders: number;
  readonly bystandersCompleted: number;
  readonly users: number;
  readonly usersCompleted: number;
  readonly sessionsEnded: number;
  /** What the handlers that used them saw: the code, and whether it is retryable. */
  readonly losses: readonly string[];
  readonly ranTwice: number;
  readonly exitCode: number | string;
}

const EACH = 20;

/** @param ends how many of the sessions that are in use are ended */
export async function lostTransactions(url: string, ends: number): Promise<LostTransactionsReport> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-lost-"));
  await using app = posthaste({ database: url, logger: silentLogger });
  const worker = await startWorkerProcess({
    app: fileURLToPath(new URL("lost-transactions-app.ts", import.meta.url)),
    args: ["--concurrency", String(2 * EACH)],
    env: { DATABASE_URL: url, SCENARIO_FOLDER: folder },
  });
  const nothing = Array.from({ length: EACH }, () => undefined);
  try {
    const bystanders = await app.sendMany(bystander, nothing);
    await waitUntil("the bystanders", () => lines(folder, "bystanders").length === EACH, 60_000);
    const users = await app.sendMany(user, nothing);
    await waitUntil("the users", () => lines(folder, "users").length === EACH, 60_000);
    const pids = lines(folder, "users").slice(0, ends).map(Number);
    await askDatabase(url, async (client) => {
      await client.query("select pg_terminate_backend(pid) from unnest($1::int[]) as pid", [pids]);
      const gone = "select from pg_stat_activity where pid = any ($1)";
      await waitUntil("the sessions to end", async () => {
        return (await client.query(gone, [pids])).rows.length === 0;
      });
    });
    writeFileSync(join(folder, "end"), "");
    const [stood, used] = [await completed(bystanders), await completed(users)];
    worker.kill("SIGTERM");
    return {
      bystanders: EACH,
      bystandersCompleted: stood.length,
      users: EACH,
      usersCompleted: used.length,
      sessionsEnded: pids.length,
      losses: used.flatMap(({ losses }) => losses),
      ranTwice: stood.filter((attempt) => attempt > 1).length,
      exitCode: await worker.exited,
    };
  } finally {
    worker.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  }
}

function lines(folder: string, file: string): readonly string[] {
  try {
    return readFileSync(join(folder, file), "utf8").trim().split("\n");
  } catch {
    return []; // none has come so far
  }
}

async function completed<T extends typeof bystander | typeof user>(
  handles: readonly TaskHandle<T>[],
) {
  const results = await Promise.all(handles.map((each) => each.result({ timeoutMs: 60_000 })));
  return results.flatMap((result) => (result.ok ? [result.value] : []));
}
