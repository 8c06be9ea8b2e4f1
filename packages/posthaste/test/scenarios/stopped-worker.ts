/**
 * A busy worker process is told to stop by SIGTERM. It must exit in time and hold nothing afterwards; what it could not
 * finish is completed by another worker, at no cost to the tasks.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { posthaste, type Posthaste } from "posthaste";
import { brokenLaws, type BrokenLaw } from "../support/broken-laws.ts";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";
import { ignoresItsSignal, letsItselfAbort, savesItsWork, short } from "./stopping-app.ts";

export interface StoppedWorkerReport {
  /** At the moment of the signal. */
  readonly running: number;
  readonly claimed: number;
  readonly exitCode: number | string;
  /** From the last signal to the exit. */
  readonly exitMs: number;
  /** Rows of that worker afterwards. */
  readonly heldAfterwards: number;
  readonly state: string;
  readonly sent: number;
  /** By status, when another worker has done the rest. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly retriesSpent: number;
  /** Attempts that were not the last, by task and outcome. */
  readonly interrupted: Readonly<Record<string, number>>;
  readonly brokenLaws: readonly BrokenLaw[];
}

export interface StoppedWorkerOptions {
  readonly url: string;
  readonly graceMs: number;
  /** How long after the load is there the signal comes. */
  readonly delayMs: number;
  /** How long after the first signal a second one comes; undefined: there is none. */
  readonly hurryAfterMs?: number;
}

/** Long tasks of each kind. */
const LONG_ONES = 5;
const CHUNK = 50;

export async function stoppedWorker(options: StoppedWorkerOptions): Promise<StoppedWorkerReport> {
  const { url } = options;
  const sql = new pg.Pool({ connectionString: url });
  sql.on("error", () => undefined); // the server may go before the last idle connection does
  const app = posthaste({ database: url, logger: silentLogger });
  const workers: WorkerProcess[] = [];
  const start = async (): Promise<WorkerProcess> => {
    const worker = await startWorkerProcess({
      app: fileURLToPath(new URL("stopping-app.ts", import.meta.url)),
      args: ["--concurrency", "50", "--shutdown-grace-ms", String(options.graceMs)],
      env: { DATABASE_URL: url },
    });
    workers.push(worker);
    return worker;
  };
  try {
    const worker = await start();
    const load = await startLoad(app, sql);
    await sleep(options.delayMs);
    const before = await held(sql, worker);
    const stopped = await stop(worker, options);
    const { running, claimed } = await held(sql, worker);
    const sent = await load.stop();
    const { rows } = await sql.query<{ state: string }>(
      "select state from posthaste.workers where pid = $1",
      [worker.pid],
    );
    await start();
    await waitUntil("another worker to do the rest", () => isDone(sql), 60_000);
    return {
      ...before,
      ...stopped,
      heldAfterwards: running + claimed,
      state: rows[0]?.state ?? "none",
      sent,
      ...(await readBooks(sql)),
    };
  } finally {
    for (const worker of workers) worker.kill("SIGKILL");
    await Promise.all(workers.map(({ exited }) => exited));
    await app.close();
    await sql.end();
  }
}

/** Resolves when the long tasks run; from then on short ones come without end. */
async function startLoad(
  app: Posthaste,
  sql: pg.Pool,
): Promise<{ readonly stop: () => Promise<number> }> {
  const many = (length: number): undefined[] => Array.from({ length }, () => undefined);
  const long = [savesItsWork, letsItselfAbort, ignoresItsSignal];
  for (const task of long) await app.sendMany(task, many(LONG_ONES));
  let sent = long.length * LONG_ONES;
  await waitUntil("the long tasks to run", async () => (await count(sql, ACTIVE)) === sent);
  const over = new AbortController();
  const sending = (async () => {
    while (!over.signal.aborted) {
      if ((await count(sql, READY)) > 10 * CHUNK) await sleep(10);
      else sent += (await app.sendMany(short, many(CHUNK))).length;
    }
  })();
  await waitUntil("the load", async () => sent > 4 * CHUNK);
  return {
    stop: async () => {
      over.abort();
      await sending;
      return sent;
    },
  };
}

async function stop(
  worker: WorkerProcess,
  { hurryAfterMs }: StoppedWorkerOptions,
): Promise<{ exitCode: number | string; exitMs: number }> {
  let since = performance.now();
  worker.kill("SIGTERM");
  if (hurryAfterMs !== undefined) {
    await sleep(hurryAfterMs);
    since = performance.now();
    worker.kill("SIGTERM");
  }
  const exitCode = await worker.exited;
  return { exitCode, exitMs: Math.round(performance.now() - since) };
}

const READY = "select count(*)::int as count from posthaste.ready_tasks";
const ACTIVE =
  "select count(*)::int as count from posthaste.active_tasks where started_at is not null";

async function count(sql: pg.Pool, text: string): Promise<number> {
  return (await sql.query<{ count: number }>(text)).rows[0]?.count ?? 0;
}

async function held(
  sql: pg.Pool,
  { pid }: WorkerProcess,
): Promise<{ running: number; claimed: number }> {
  const { rows } = await sql.query<{ running: number; claimed: number }>(
    `select (count(*) filter (where a.started_at is not null))::int as running,
            (count(*) filter (where a.started_at is null))::int as claimed
       from posthaste.active_tasks a join posthaste.workers w using (worker_id)
      where w.pid = $1`,
    [pid],
  );
  return rows[0] ?? { running: 0, claimed: 0 };
}

/** A task that moves is in one of the two at every moment, so both are read with one snapshot. */
async function isDone(sql: pg.Pool): Promise<boolean> {
  const left = await count(
    sql,
    `select (select count(*) from posthaste.ready_tasks)::int
          + (select count(*) from posthaste.active_tasks)::int as count`,
  );
  return left === 0;
}

/** Of this round only: the tables are emptied. */
async function readBooks(
  sql: pg.Pool,
): Promise<Pick<StoppedWorkerReport, "statuses" | "retriesSpent" | "interrupted" | "brokenLaws">> {
  const tally = async (text: string): Promise<Record<string, number>> => {
    const { rows } = await sql.query<{ what: string; times: number }>(text);
    return Object.fromEntries(rows.map(({ what, times }) => [what, times]));
  };
  const books = {
    statuses: await tally(
      "select status as what, count(*)::int as times from posthaste.tasks group by 1 order by 1",
    ),
    retriesSpent: await count(
      sql,
      "select coalesce(sum(retry_count), 0)::int as count from posthaste.tasks",
    ),
    interrupted: await tally(
      `select s.name || ' ' || a.outcome as what, count(*)::int as times
         from posthaste.attempts a join posthaste.submissions s using (task_id) group by 1 order by 1`,
    ),
    brokenLaws: await brokenLaws(async (text) => (await sql.query<BrokenLaw>(text)).rows),
  };
  await sql.query("truncate posthaste.submissions, posthaste.finished_tasks, posthaste.attempts");
  return books;
}
