/**
 * Tasks fail by the thousand, and operators run them again: at a rate, while worker processes are killed; two operators at once; and
 * tasks of a frozen worker, which wakes up when the new series is over.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { posthaste, type Posthaste } from "posthaste";
import { brokenLaws, type BrokenLaw } from "../support/broken-laws.ts";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";
import { oversleeps, recovers } from "./retried-app.ts";

export interface RetriedTasksReport {
  readonly matched: number;
  readonly changed: number;
  readonly kills: number;
  /** Retries in a second, from the first to the last. */
  readonly perSecond: number;
  /** By status, when the new series is over. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Rows of task_retries for each task: the fewest, and the most. */
  readonly retries: readonly [number, number];
  /** Attempts that ended a first series and are kept. */
  readonly firstSeriesKept: number;
  /** Attempts that killed workers left behind. */
  readonly crashed: number;
  /** Of two operators who retried the same tasks at once, together. */
  readonly changedByBoth: number;
  readonly retriedTwice: number;
  /** Tasks whose stored end a worker changed that had been frozen since the first series. */
  readonly changedByZombie: number;
  /** Whether that worker's handlers had ended meanwhile. */
  readonly zombieHandlers: number;
  readonly brokenLaws: readonly BrokenLaw[];
}

export interface RetriedTasksOptions {
  readonly url: string;
  readonly count: number;
  readonly maxPerSecond: number;
  readonly kills: number;
}

const FROZEN = 20;

export async function retriedTasks(options: RetriedTasksOptions): Promise<RetriedTasksReport> {
  const sql = new pg.Pool({ connectionString: options.url });
  sql.on("error", () => undefined); // the server may go before the last idle connection does
  const stage = new Stage(options, sql);
  try {
    return {
      ...(await stage.retryWhileWorkersAreKilled()),
      ...(await stage.retryByTwo()),
      ...(await stage.wakeTheFrozenWorker()),
      brokenLaws: await brokenLaws(async (text) => (await sql.query<BrokenLaw>(text)).rows),
    };
  } finally {
    await stage.close();
    await sql.end();
  }
}

class Stage {
  readonly #options: RetriedTasksOptions;
  readonly #sql: pg.Pool;
  readonly #apps: readonly [Posthaste, Posthaste];
  readonly #workers = new Set<WorkerProcess>();

  constructor(options: RetriedTasksOptions, sql: pg.Pool) {
    this.#options = options;
    this.#sql = sql;
    const app = () => posthaste({ database: options.url, logger: silentLogger });
    this.#apps = [app(), app()];
  }

  async retryWhileWorkersAreKilled() {
    const { count, maxPerSecond, kills } = this.#options;
    const [app] = this.#apps;
    await Promise.all([this.#start(), this.#start()]);
    await app.sendMany(
      recovers,
      Array.from({ length: count }, () => null),
    );
    await this.#until("recovers", "FAILED", count);

    const retrying = app.admin.tasks.retry({ name: "recovers" }, { maxPerSecond });
    const pauseMs = ((count / maxPerSecond) * 1_000) / (kills + 1);
    for (let kill = 0; kill < kills; kill++) {
      await sleep(pauseMs);
      const [worker] = this.#workers;
      if (worker === undefined) throw new Error("no worker is left to kill");
      await this.#end(worker, "SIGKILL");
      await this.#start();
    }
    const { matched, changed } = await retrying;
    await this.#until("recovers", "COMPLETED", count);
    return { matched, changed, kills, ...(await this.#books()) };
  }

  async #books() {
    const one = async <Row extends pg.QueryResultRow>(text: string): Promise<Row> => {
      const { rows } = await this.#sql.query<Row>(text);
      const [row] = rows;
      if (row === undefined) throw new Error("no answer");
      return row;
    };
    const { rate } = await one<{ rate: number }>(`
      select (count(*) - 1) / extract(epoch from max(retried_at) - min(retried_at))::float8 as rate
        from posthaste.task_retries`);
    const { fewest, most } = await one<{ fewest: number; most: number }>(`
      select min(count)::int as fewest, max(count)::int as most
        from (select count(retried.id) from posthaste.submissions left join posthaste.task_retries as retried using (task_id)
               group by task_id) as each`);
    const { kept, crashed } = await one<{ kept: number; crashed: number }>(`
      select (count(*) filter (where ended_task and attempt_no = 1 and error_code = 'AWAY'))::int as kept,
             (count(*) filter (where outcome = 'WORKER_FAILURE'))::int as crashed
        from posthaste.attempts`);
    return {
      perSecond: rate,
      statuses: await this.#statuses("recovers"),
      retries: [fewest, most] as const,
      firstSeriesKept: kept,
      crashed,
    };
  }

  /** No worker takes the tasks, so that each can be retried once only. */
  async retryByTwo() {
    const { count } = this.#options;
    const queue = "unserved";
    const handles = await this.#apps[0].sendMany(
      recovers,
      Array.from({ length: Math.ceil(count / 5) }, () => null),
      { queue },
    );
    await this.#sql.query("select posthaste.fail(id, 'AWAY') from unnest($1::uuid[]) as id", [
      handles.map(({ id }) => id),
    ]);
    const answers = await Promise.all(
      this.#apps.map((app) => app.admin.tasks.retry({ queue }, { maxPerSecond: 2_000 })),
    );
    const { rows } = await this.#sql.query(
      `select from posthaste.task_retries join posthaste.submissions using (task_id)
        where queue = $1 group by task_id having count(*) > 1`,
      [queue],
    );
    await this.#apps[0].admin.tasks.cancel({ queue });
    return {
      changedByBoth: answers.reduce((sum, { changed }) => sum + changed, 0) - handles.length,
      retriedTwice: rows.length,
    };
  }

  async wakeTheFrozenWorker() {
    const [app] = this.#apps;
    const frozen = await this.#start("frozen");
    await app.sendMany(
      oversleeps,
      Array.from({ length: FROZEN }, () => null),
    );
    await this.#until("oversleeps", "RUNNING", FROZEN);
    frozen.kill("SIGSTOP");
    await this.#sql.query(
      "select posthaste.fail(id, 'OPERATOR') from posthaste.tasks where name = 'oversleeps'",
    );
    await app.admin.tasks.retry({ name: "oversleeps" });
    await this.#start("frozen");
    await this.#until("oversleeps", "COMPLETED", FROZEN);
    const before = await this.#ends();

    frozen.kill("SIGCONT");
    await sleep(2_500); // its handlers end, and it writes what it can
    await this.#end(frozen, "SIGTERM");
    const after = await this.#ends();
    const changed = before.filter((end, n) => end !== after[n]);
    const told = frozen.log.filter(({ task }) => typeof task === "string");
    return {
      changedByZombie: changed.length,
      zombieHandlers: new Set(told.map(({ task }) => task)).size,
    };
  }

  async #ends(): Promise<string[]> {
    const { rows } = await this.#sql.query<{ end: string }>(`
      select (to_jsonb(ended) || jsonb_build_object('attempts', (
               select jsonb_agg(to_jsonb(attempt) order by attempt_no)
                 from posthaste.attempts as attempt where attempt.task_id = ended.task_id)))::text as end
        from posthaste.finished_tasks as ended join posthaste.submissions as sent using (task_id)
       where sent.name = 'oversleeps' order by task_id`);
    return rows.map(({ end }) => end);
  }

  async #statuses(name: string): Promise<Record<string, number>> {
    const { rows } = await this.#sql.query<{ status: string; count: number }>(
      "select status, count(*)::int as count from posthaste.tasks where name = $1 group by status",
      [name],
    );
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  }

  #until(name: string, status: string, count: number): Promise<unknown> {
    return waitUntil(
      `${count} ${name} to be ${status}`,
      async () => (await this.#statuses(name))[status] === count,
      180_000,
    );
  }

  async #start(queue = "default"): Promise<WorkerProcess> {
    const worker = await startWorkerProcess({
      app: fileURLToPath(new URL("retried-app.ts", import.meta.url)),
      args: ["--concurrency", "20", "--queues", queue],
      env: { DATABASE_URL: this.#options.url },
    });
    this.#workers.add(worker);
    return worker;
  }

  async #end(worker: WorkerProcess, signal: NodeJS.Signals): Promise<void> {
    worker.kill(signal);
    await worker.exited;
    this.#workers.delete(worker);
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) worker.kill("SIGKILL");
    await Promise.all([...this.#workers].map(({ exited }) => exited));
    await Promise.all(this.#apps.map((app) => app.close()));
  }
}
