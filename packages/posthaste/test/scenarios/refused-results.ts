/**
 * PostgreSQL refuses results for a while, for a reason that has nothing to do with them: the disk is full, memory or I/O
 * fails. A worker process keeps the results of its tasks, past the threshold after which a silent task is recovered, and
 * writes them when PostgreSQL takes them again.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { posthaste, PosthasteError, type Posthaste } from "posthaste";
import { askDatabase } from "../support/ask-database.ts";
import { silentLogger } from "../support/loggers.ts";
import { makeRefusals } from "../support/refusals.ts";
import { onSmallDisk } from "../support/small-disk.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";
import { report } from "./refused-results-app.ts";

export interface RefusedResultsReport {
  readonly tasks: number;
  readonly completed: number;
  readonly ranTwice: number;
  /** Rows that say that a task was taken from its worker. */
  readonly recoveries: number;
  /** Results that were stored while they were to be refused. */
  readonly storedMeanwhile: number;
  /** What PostgreSQL said to the worker. */
  readonly sqlStates: readonly string[];
  /** What a sender was told meanwhile: `sent`, or the code and whether it is retryable. */
  readonly sends: readonly string[];
  /** From the end of the refusals until every task was COMPLETED. */
  readonly writtenAfterMs: number;
  readonly exitCode: number | string;
}

interface Fault {
  begin(): Promise<void>;
  end(): Promise<void>;
}

const TASKS = 8;
/** Longer than the stale threshold of the app. */
const REFUSED_MS = 6_000;

/** 53100: the disk with the results is full. Needs the right to mount a file system. */
export function resultsOnFullDisk(url: string): Promise<RefusedResultsReport> {
  return withSchema(url, (app) =>
    onSmallDisk(url, "posthaste.finished_tasks", (disk) =>
      refusedResults(url, app, {
        begin: async () => disk.fill(),
        end: async () => disk.clear(),
      }),
    ),
  );
}

/** A trigger raises this SQLSTATE for every result, and for every task that is sent. */
export function resultsRefusedWith(url: string, code: string): Promise<RefusedResultsReport> {
  return withSchema(url, (app) =>
    askDatabase(url, (client) => {
      const sql = async <Row extends object>(text: string): Promise<Row[]> =>
        (await client.query<Row>(text)).rows;
      const refusals = makeRefusals(sql, ["finished_tasks", "submissions"]);
      return refusedResults(url, app, {
        begin: () => refusals.begin(code),
        end: () => refusals.end(),
      });
    }),
  );
}

async function withSchema<Answer>(
  url: string,
  use: (app: Posthaste) => Promise<Answer>,
): Promise<Answer> {
  await using app = posthaste({ database: url, logger: silentLogger });
  await app.ensureSchema();
  return await use(app);
}

async function refusedResults(
  url: string,
  app: Posthaste,
  fault: Fault,
): Promise<RefusedResultsReport> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-refused-"));
  const worker = await startWorkerProcess({
    app: fileURLToPath(new URL("refused-results-app.ts", import.meta.url)),
    args: ["--concurrency", String(TASKS)],
    env: { DATABASE_URL: url, SCENARIO_FOLDER: folder },
  });
  try {
    const handles = await app.sendMany(
      report,
      Array.from({ length: TASKS }, () => 1_000),
    );
    await waitUntil("every task to run", () => runs(folder).length === TASKS, 60_000);
    await fault.begin();
    await waitUntil("a result to be refused", () => refusedStates(worker)[0], 60_000);
    const [send] = await Promise.all([whatASenderIsTold(app), sleep(REFUSED_MS)]);
    const storedMeanwhile = await countCompleted(url);
    await fault.end();
    const healedAt = performance.now();
    const results = await Promise.all(handles.map((each) => each.result({ timeoutMs: 60_000 })));
    const writtenAfterMs = Math.round(performance.now() - healedAt);
    worker.kill("SIGTERM");
    const ran = runs(folder);
    return {
      tasks: TASKS,
      completed: results.filter(({ ok }) => ok).length,
      ranTwice: ran.length - new Set(ran).size,
      recoveries: await countRecoveries(url),
      storedMeanwhile,
      sqlStates: refusedStates(worker),
      sends: [send, await whatASenderIsTold(app)],
      writtenAfterMs,
      exitCode: await worker.exited,
    };
  } finally {
    worker.kill("SIGKILL");
    await fault.end();
    rmSync(folder, { recursive: true });
  }
}

/** One line for each handler that began. */
function runs(folder: string): readonly string[] {
  try {
    return readFileSync(join(folder, "ledger"), "utf8").trim().split("\n");
  } catch {
    return []; // none has begun
  }
}

function refusedStates({ log }: WorkerProcess): readonly string[] {
  const said = log.filter(({ message }) => String(message).includes("keeping it in memory"));
  return [...new Set(said.map(({ code }) => String(code)))];
}

/** To a queue that nobody serves. */
async function whatASenderIsTold(app: Posthaste): Promise<string> {
  try {
    await app.send(report, 0, { queue: "unserved" });
    return "sent";
  } catch (error) {
    if (!(error instanceof PosthasteError)) throw error;
    return `${error.code}, ${error.retryable ? "retryable" : "final"}`;
  }
}

function countCompleted(url: string): Promise<number> {
  return count(url, "select from posthaste.finished_tasks");
}

function countRecoveries(url: string): Promise<number> {
  return count(url, "select from posthaste.recoveries");
}

function count(url: string, text: string): Promise<number> {
  return askDatabase(url, async (client) => (await client.query(text)).rows.length);
}
