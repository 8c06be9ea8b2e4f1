/**
 * Worker processes that want far more than a cap allows, each connected by another spelling of the same URL. The
 * database keeps a journal of what was under way; it must never show more than the cap.
 */
import { fileURLToPath } from "node:url";
import pg from "pg";
import { posthaste, type Posthaste } from "posthaste";
import { closeJournal, keepJournal, type JournalSums } from "../support/active-journal.ts";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";
import { brief } from "./capped-app.ts";

export interface CapPhase {
  /** What is capped: the queue's own limit, or that of the cluster. */
  readonly of: "queue" | "cluster";
  readonly cap: number;
  readonly tasks: number;
}

export interface CapPhaseReport extends CapPhase, JournalSums {
  readonly completed: number;
  readonly ranTwice: number;
  /** Processes that completed at least one of the tasks. */
  readonly workersAtWork: number;
  readonly tookMs: number;
}

export interface CappedQueueOptions {
  /** Of a server with the settings of active-journal.ts. */
  readonly url: string;
  readonly processes: number;
  readonly phases: readonly CapPhase[];
}

/** Tasks that are sent together. */
const CHUNK = 25;

export async function cappedQueue(options: CappedQueueOptions): Promise<CapPhaseReport[]> {
  const { url, phases } = options;
  const client = new pg.Client(url);
  await client.connect();
  const app = posthaste({ database: url, logger: silentLogger });
  try {
    await app.ensureSchema();
    await keepJournal(client);
    const reports: CapPhaseReport[] = [];
    for (const phase of phases) {
      const startedAt = performance.now();
      await runPhase(client, options, phase, () => sendAll(app, client, phase.tasks));
      const tookMs = Math.round(performance.now() - startedAt);
      reports.push({ ...phase, ...(await readBooks(client)), tookMs });
    }
    return reports;
  } finally {
    await app.close();
    await client.end();
  }
}

async function runPhase(
  client: pg.Client,
  { url, processes }: CappedQueueOptions,
  { of, cap, tasks }: CapPhase,
  send: () => Promise<void>,
): Promise<void> {
  const variable = of === "queue" ? "SCENARIO_QUEUE_CAP" : "SCENARIO_CLUSTER_CAP";
  const workers: WorkerProcess[] = [];
  try {
    const starts = spellings(url, processes).map(async (database) => {
      const worker = await startWorkerProcess({
        app: fileURLToPath(new URL("capped-app.ts", import.meta.url)),
        args: ["--concurrency", "10"],
        env: { DATABASE_URL: database, [variable]: String(cap) },
      });
      workers.push(worker);
    });
    await Promise.all(starts);
    await send();
    await waitUntil(`${tasks} tasks under a cap of ${cap}`, () => isDone(client), 120_000);
    for (const worker of workers) worker.kill("SIGTERM");
    await Promise.all(workers.map(({ exited }) => exited));
  } finally {
    for (const worker of workers) worker.kill("SIGKILL");
  }
}

/**
 * Little by little and of every urgency, so that workers that look at the same moment see different tasks first. In a
 * line that only grows at its end they would reach for the same rows, and a cap that is not locked would hold by luck.
 */
async function sendAll(app: Posthaste, client: pg.Client, tasks: number): Promise<void> {
  for (let sent = 0; sent < tasks; sent += CHUNK) {
    const chunk = Array.from({ length: Math.min(CHUNK, tasks - sent) }, () => ({
      input: undefined,
      priority: 1 + Math.floor(Math.random() * 9),
    }));
    await app.sendMany(brief, chunk);
    await waitUntil("a shorter line", async () => (await waiting(client)) < 3 * CHUNK);
  }
}

async function waiting(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    "select count(*)::int as count from posthaste.ready_tasks",
  );
  return rows[0]?.count ?? 0;
}

async function isDone(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ done: boolean }>(
    `select not exists (select from posthaste.ready_tasks)
        and not exists (select from posthaste.active_tasks) as done`,
  );
  return rows[0]?.done === true;
}

/** Of this phase only: what is counted is thrown away. */
async function readBooks(
  client: pg.Client,
): Promise<Omit<CapPhaseReport, keyof CapPhase | "tookMs">> {
  const { rows } = await client.query<{
    completed: number;
    ranTwice: number;
    workersAtWork: number;
  }>(
    `select (count(*) filter (where status is null))::int as completed,
            (count(*) filter (where coalesce(attempt_no, 1) <> 1))::int + (select count(*) from posthaste.attempts)::int as "ranTwice",
            count(distinct worker_id)::int as "workersAtWork"
       from posthaste.finished_tasks`,
  );
  const [counted] = rows;
  if (counted === undefined) throw new Error("nothing was counted");
  await client.query(
    "truncate posthaste.submissions, posthaste.finished_tasks, posthaste.attempts",
  );
  return { ...counted, ...(await closeJournal(client)) };
}

/** Ways to write the same URL, as the configurations of different processes may. */
export function spellings(url: string, count: number): string[] {
  const { username, password, port, pathname } = new URL(url);
  const place = `${port}${pathname}`;
  const coded = `%${username.charCodeAt(0).toString(16)}${username.slice(1)}`;
  const ways = [
    `postgres://${username}:${password}@127.0.0.1:${place}`,
    `postgresql://${username}:${password}@127.0.0.1:${place}`,
    `postgres://${username}:${password}@localhost:${place}`,
    `postgresql://${username}:${password}@localhost:${place}?application_name=someone`,
    `postgres://${coded}:${password}@127.0.0.1:${place}`,
    `postgresql://${coded}:${password}@localhost:${place}?connect_timeout=10&keepalives=1`,
    `postgres://${username}:${password}@LOCALHOST:${place}?`,
    `postgres://${username}:${password}@127.0.0.1:${place}?sslmode=disable&application_name=other#`,
  ];
  return Array.from({ length: count }, (_, n) => ways[n % ways.length] ?? url);
}
