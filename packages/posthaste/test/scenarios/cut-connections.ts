/**
 * Sends, two worker processes and waiters, all through a proxy that cuts connections at random, also after the server
 * has committed and before its answer arrives. Every acknowledged send must exist once, every handler run once, no task
 * finish twice, and every waiter get its result.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { posthaste, PosthasteError } from "posthaste";
import { startFaultProxy, type Fault } from "../support/fault-proxy.ts";
import { silentLogger } from "../support/loggers.ts";
import { startWorkerProcess } from "../support/worker-process.ts";
import { recordRun } from "./worker-app.ts";

export interface CutConnectionsReport {
  readonly sends: number;
  readonly acknowledged: number;
  readonly refused: number;
  readonly cuts: Readonly<Record<string, number>>;
  readonly missing: number;
  readonly completed: number;
  readonly wrongResults: number;
  readonly ranTwice: number;
  readonly neverRan: number;
  readonly adopted: number;
  /** Handlers that ran at the same time in one worker, which has 20 slots. */
  readonly mostAtOnce: number;
}

export interface CutConnectionsOptions {
  readonly url: string;
  readonly sends: number;
  readonly callers: number;
  /** The chance that a chunk of bytes meets a fault. */
  readonly faultRate: number;
  readonly random: () => number;
}

export async function cutConnections(
  options: CutConnectionsOptions,
): Promise<CutConnectionsReport> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-cuts-"));
  const { hostname, port } = new URL(options.url);
  const decide = (): Fault => {
    if (options.random() >= options.faultRate) return "none";
    return options.random() < 0.5 ? "cut before" : "cut after";
  };
  const proxy = await startFaultProxy({
    target: { host: hostname, port: Number(port) },
    toServer: decide,
    toClient: decide,
  });
  const through = new URL(options.url);
  through.port = String(proxy.port);
  const app = posthaste({
    database: through.href,
    logger: silentLogger,
    resilience: { notifyPollIntervalMs: 1_000 },
  });
  const env = { DATABASE_URL: through.href, SCENARIO_FOLDER: folder };
  const workerApp = fileURLToPath(new URL("worker-app.ts", import.meta.url));
  const start = () => startWorkerProcess({ app: workerApp, env, args: ["--concurrency", "20"] });
  const workers = await Promise.all([start(), start()]);
  try {
    const outcome = await sendAndAwait(app, options);
    proxy.heal();
    for (const worker of workers) worker.kill("SIGTERM");
    await Promise.all(workers.map((worker) => worker.exited));
    const adopted = workers
      .flatMap(({ log }) => log)
      .filter(({ message }) => String(message).startsWith("found claims whose"));
    const { times, mostAtOnce } = readRuns(folder);
    return {
      ...outcome,
      ...(await compareBooks(options.url, outcome.ids, times)),
      mostAtOnce,
      sends: options.sends,
      cuts: proxy.cuts,
      adopted: adopted.reduce((sum, { count }) => sum + Number(count), 0),
    };
  } finally {
    proxy.heal();
    for (const worker of workers) worker.kill("SIGKILL");
    await app.close();
    await proxy.close();
    rmSync(folder, { recursive: true });
  }
}

async function sendAndAwait(
  app: ReturnType<typeof posthaste>,
  { sends, callers }: CutConnectionsOptions,
): Promise<{ ids: string[]; acknowledged: number; refused: number; wrongResults: number }> {
  const ids: string[] = [];
  let refused = 0;
  let wrongResults = 0;
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      const waits: Promise<void>[] = [];
      while (next < sends) {
        const n = next++;
        try {
          const handle = await app.send(recordRun, { n });
          ids.push(handle.id);
          waits.push(
            handle.result({ timeoutMs: 120_000 }).then((result) => {
              if (!result.ok || result.value.n !== n) wrongResults++;
              return undefined;
            }),
          );
        } catch (error) {
          // Said plainly instead of acknowledged: allowed, and counted.
          if (!(error instanceof PosthasteError) || !error.retryable) throw error;
          refused++;
        }
      }
      await Promise.all(waits);
    }),
  );
  return { ids, acknowledged: ids.length, refused, wrongResults };
}

async function compareBooks(
  url: string,
  ids: readonly string[],
  runs: ReadonlyMap<string, number>,
): Promise<{ missing: number; completed: number; ranTwice: number; neverRan: number }> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ id: string; status: string }>(
    "select id, status from posthaste.tasks",
  );
  await client.end();
  const statuses = new Map(rows.map(({ id, status }) => [id, status]));
  return {
    missing: ids.filter((id) => !statuses.has(id)).length,
    completed: ids.filter((id) => statuses.get(id) === "COMPLETED").length,
    ranTwice: [...runs.values()].filter((times) => times > 1).length,
    neverRan: ids.filter((id) => !runs.has(id)).length,
  };
}

function readRuns(folder: string): { times: Map<string, number>; mostAtOnce: number } {
  const times = new Map<string, number>();
  let mostAtOnce = 0;
  for (const file of readdirSync(folder)) {
    for (const line of readFileSync(join(folder, file), "utf8").trim().split("\n")) {
      const [id = "", running = "0"] = line.split(" ");
      times.set(id, (times.get(id) ?? 0) + 1);
      mostAtOnce = Math.max(mostAtOnce, Number(running));
    }
  }
  return { times, mostAtOnce };
}
