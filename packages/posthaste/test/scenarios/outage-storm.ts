/**
 * PostgreSQL goes away again and again while two worker processes work and producers send. Nothing acknowledged may be
 * missing, no handler may run twice or be told to stop, no process may exit, and work must go on soon after each return.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { posthaste, PosthasteError, type Posthaste } from "posthaste";
import { brokenLaws, type BrokenLaw } from "../support/broken-laws.ts";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";
import { lastFor } from "./outage-app.ts";

/** The way from workers and producers to the server, and what takes the database away. */
export interface OutageStage {
  /** For the audit: leads to the server, whatever is broken. */
  readonly auditUrl: string;
  readonly url: string;
  readonly sessionUrl?: string;
  goAway(): Promise<void>;
  /** Resolves when a new connection would be accepted. */
  comeBack(): Promise<void>;
}

export interface OutageStormOptions {
  readonly stage: OutageStage;
  /** How long the database is away, each time. */
  readonly outagesMs: readonly number[];
  /** How long it is there between two of them. */
  readonly calmMs: number;
}

export interface OutageStormReport {
  readonly acknowledged: number;
  /** Sends that were told DATABASE_UNAVAILABLE; each was repeated with the same id until it was acknowledged. */
  readonly refused: number;
  /** From the moment a connection is accepted to the first claim, for each outage. */
  readonly firstClaimsMs: readonly number[];
  readonly missing: number;
  readonly notCompleted: number;
  readonly ranTwice: number;
  readonly neverRan: number;
  readonly aborted: number;
  /** Handlers that began before an outage and ended in or after it. */
  readonly outlived: number;
  readonly processesGone: number;
  readonly brokenLaws: readonly BrokenLaw[];
  /** What the workers said of outages: lines that it went, lines that it is back. */
  readonly saidGone: number;
  readonly saidBack: number;
}

const PRODUCERS = 8;
const PAUSE_MS = 30;
/** One task in so many outlives most outages. */
const LONG_ONE_IN = 40;
const LONG_MS = 4_000;
/** Fall due while the database is away, so that there is something to claim when it is back. */
const DUE_MEANWHILE = 40;

export async function outageStorm(options: OutageStormOptions): Promise<OutageStormReport> {
  const { stage } = options;
  const folder = mkdtempSync(join(tmpdir(), "posthaste-storm-"));
  await ensureSchema(stage.auditUrl);
  const app = posthaste({ database: databaseOf(stage), logger: silentLogger });
  const workers = await Promise.all([startWorker(stage, folder), startWorker(stage, folder)]);
  const gone = new Set<WorkerProcess>();
  for (const worker of workers) void worker.exited.then(() => gone.add(worker));
  const load = new Load(app);
  try {
    const returns = await blow(options, load);
    await load.stop();
    const processesGone = await completeAll(stage.auditUrl, workers).then(() => gone.size);
    for (const worker of workers) worker.kill("SIGTERM");
    await Promise.all(workers.map(({ exited }) => exited));
    return {
      ...(await audit(stage.auditUrl, load, returns)),
      ...readLedger(folder, load.ids),
      acknowledged: load.ids.size,
      refused: load.refused,
      processesGone,
      saidGone: countLines(workers, /^database unreachable/),
      saidBack: countLines(workers, /^database reachable again/),
    };
  } finally {
    for (const worker of workers) worker.kill("SIGKILL");
    await app.close();
    rmSync(folder, { recursive: true });
  }
}

async function ensureSchema(url: string): Promise<void> {
  await using app = posthaste({ database: url, logger: silentLogger });
  await app.ensureSchema();
}

interface Outage {
  readonly beganAt: number;
  readonly endedAt: number;
}

async function blow(
  { stage, outagesMs, calmMs }: OutageStormOptions,
  load: Load,
): Promise<Outage[]> {
  const outages: Outage[] = [];
  for (const outageMs of outagesMs) {
    await sleep(calmMs);
    await load.sendForLater(DUE_MEANWHILE, outageMs / 2);
    const beganAt = Date.now();
    await stage.goAway();
    await sleep(outageMs);
    await stage.comeBack();
    const endedAt = Date.now();
    outages.push({ beganAt, endedAt });
    await untilClaimed(stage.auditUrl, endedAt);
  }
  await sleep(calmMs);
  return outages;
}

/** So that one outage does not hide what the one before it did. */
async function untilClaimed(url: string, since: number): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const first = `select from posthaste.tasks where coalesce(claimed_at, started_at) >= $1 limit 1`;
  try {
    const isThere = async () => (await client.query(first, [new Date(since)])).rows.length > 0;
    await waitUntil("the first claim", isThere, 60_000);
  } finally {
    await client.end();
  }
}

/** Producers that never give up: what was refused is sent again under the same id. */
class Load {
  /** Acknowledged. */
  readonly ids = new Set<string>();
  refused = 0;
  readonly #app: Posthaste;
  readonly #producers: Promise<unknown>;
  #isOver = false;
  #next = 0;

  constructor(app: Posthaste) {
    this.#app = app;
    this.#producers = Promise.all(Array.from({ length: PRODUCERS }, () => this.#produce()));
    this.#producers.catch(() => undefined); // awaited by stop()
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#producers;
  }

  async sendForLater(count: number, delayMs: number): Promise<void> {
    const inputs = Array.from({ length: count }, () => ({ n: this.#next++, ms: 10 }));
    const handles = await this.#insist(() => this.#app.sendMany(lastFor, inputs, { delayMs }));
    for (const { id } of handles) this.ids.add(id);
  }

  async #produce(): Promise<void> {
    while (!this.#isOver) {
      const n = this.#next++;
      const input = { n, ms: n % LONG_ONE_IN === 0 ? LONG_MS : 20 };
      const id = crypto.randomUUID();
      await this.#insist(() => this.#app.send(lastFor, input, { id }));
      this.ids.add(id);
      await sleep(PAUSE_MS);
    }
  }

  async #insist<Answer>(send: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      try {
        return await send();
      } catch (error) {
        if (!(error instanceof PosthasteError) || !error.retryable) throw error;
        this.refused++;
      }
    }
  }
}

function databaseOf({
  url,
  sessionUrl,
}: OutageStage): string | { url: string; sessionUrl: string } {
  return sessionUrl === undefined ? url : { url, sessionUrl };
}

function startWorker(stage: OutageStage, folder: string): Promise<WorkerProcess> {
  const { url, sessionUrl } = stage;
  return startWorkerProcess({
    app: fileURLToPath(new URL("outage-app.ts", import.meta.url)),
    args: ["--concurrency", "20"],
    env: {
      DATABASE_URL: url,
      SCENARIO_FOLDER: folder,
      ...(sessionUrl !== undefined && { SCENARIO_SESSION_URL: sessionUrl }),
    },
  });
}

/** Waits until nothing is pending or running; throws with the workers' last words if that takes too long. */
async function completeAll(url: string, workers: readonly WorkerProcess[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await waitUntil(
      "every task to end",
      async () => {
        const { rows } = await client.query(
          "select from posthaste.ready_tasks union all select from posthaste.active_tasks limit 1",
        );
        return rows.length === 0;
      },
      60_000,
    );
  } catch (error) {
    const said = workers.map(({ log }) => log.slice(-5).map(({ message }) => message));
    throw new Error(`${String(error)}; the workers' last words: ${JSON.stringify(said)}`, {
      cause: error,
    });
  } finally {
    await client.end();
  }
}

async function audit(url: string, { ids }: Load, outages: readonly Outage[]) {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ id: string; status: string; begun: Date; ended: Date }>(
    `select id, status, coalesce(claimed_at, started_at) as begun, completed_at as ended from posthaste.tasks`,
  );
  const laws = await brokenLaws(async (text) => (await client.query<BrokenLaw>(text)).rows);
  await client.end();
  const tasks = new Map(rows.map((row) => [row.id, row]));
  const begins = rows.map(({ begun }) => Number(begun)).sort((a, b) => a - b);
  const spans = ({ begun, ended }: { begun: Date; ended: Date }): boolean =>
    outages.some(({ beganAt, endedAt }) => Number(begun) < beganAt && Number(ended) > endedAt);
  return {
    firstClaimsMs: outages.map(({ endedAt }) => {
      const first = begins.find((begun) => begun >= endedAt) ?? Infinity;
      return Math.round(first - endedAt);
    }),
    missing: [...ids].filter((id) => !tasks.has(id)).length,
    notCompleted: [...ids].filter((id) => tasks.get(id)?.status !== "COMPLETED").length,
    outlived: rows.filter(spans).length,
    brokenLaws: laws,
  };
}

function readLedger(folder: string, ids: ReadonlySet<string>) {
  const times = new Map<string, number>();
  let aborted = 0;
  for (const file of readdirSync(folder)) {
    for (const line of readFileSync(join(folder, file), "utf8").trim().split("\n")) {
      const [id = "", how] = line.split(" ");
      times.set(id, (times.get(id) ?? 0) + 1);
      if (how === "aborted") aborted++;
    }
  }
  return {
    aborted,
    ranTwice: [...times.values()].filter((count) => count > 1).length,
    neverRan: [...ids].filter((id) => !times.has(id)).length,
  };
}

function countLines(workers: readonly WorkerProcess[], said: RegExp): number {
  return workers.flatMap(({ log }) => log).filter(({ message }) => said.test(String(message)))
    .length;
}
