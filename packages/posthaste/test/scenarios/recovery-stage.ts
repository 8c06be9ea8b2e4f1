/** Worker processes of recovery-app.ts on one database, and what can be asked about them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { posthaste, type AppConfig, type Posthaste } from "posthaste";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";

export interface RunLine {
  readonly what: string;
  readonly pid: number;
  readonly task: string;
  readonly attempt: number;
  readonly at: number;
}

export class RecoveryStage {
  readonly app: Posthaste;
  readonly workers: WorkerProcess[] = [];
  readonly #url: string;
  readonly #config: AppConfig;
  readonly #folder = mkdtempSync(join(tmpdir(), "posthaste-recovery-"));

  private constructor(url: string, config: AppConfig) {
    this.#url = url;
    this.#config = config;
    this.app = posthaste({ ...config, database: url, logger: silentLogger });
  }

  static async use<Answer>(
    url: string,
    config: AppConfig,
    use: (stage: RecoveryStage) => Promise<Answer>,
  ): Promise<Answer> {
    const stage = new RecoveryStage(url, config);
    try {
      return await use(stage);
    } finally {
      for (const worker of stage.workers) {
        worker.kill("SIGCONT");
        worker.kill("SIGKILL");
      }
      await Promise.all(stage.workers.map(({ exited }) => exited));
      await stage.app.close();
      rmSync(stage.#folder, { recursive: true });
    }
  }

  start(...args: string[]): Promise<WorkerProcess> {
    return this.#start(this.#url, args);
  }

  /** With more in its environment. */
  startWith(env: Readonly<Record<string, string>>, ...args: string[]): Promise<WorkerProcess> {
    return this.#start(this.#url, args, env);
  }

  /** Under another role, whose password is its name. */
  startAs(role: string): Promise<WorkerProcess> {
    const url = new URL(this.#url);
    url.username = role;
    url.password = role;
    return this.#start(url.href, []);
  }

  async #start(
    url: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<WorkerProcess> {
    const worker = await startWorkerProcess({
      app: fileURLToPath(new URL("recovery-app.ts", import.meta.url)),
      args,
      env: {
        ...env,
        DATABASE_URL: url,
        SCENARIO_FOLDER: this.#folder,
        SCENARIO_CONFIG: JSON.stringify(this.#config),
      },
    });
    this.workers.push(worker);
    return worker;
  }

  /** Lets the first attempts of `hold` go on. */
  go(): void {
    writeFileSync(join(this.#folder, "go"), "");
  }

  runs(): RunLine[] {
    try {
      const lines = readFileSync(join(this.#folder, "runs"), "utf8").trim().split("\n");
      return lines.map((line) => JSON.parse(line) as RunLine);
    } catch {
      return []; // nothing has run yet
    }
  }

  /** The first line about a task that is meant. */
  async line(what: string, isMeant: (line: RunLine) => boolean): Promise<RunLine> {
    return waitUntil(`"${what}" of a task`, () =>
      this.runs().find((line) => line.what === what && isMeant(line)),
    );
  }

  /** The process that runs it. */
  async runnerOf(task: string): Promise<WorkerProcess> {
    const { pid } = await this.line("began", (line) => line.task === task);
    const worker = this.workers.find((one) => one.pid === pid);
    if (worker === undefined) throw new Error(`no worker has the process id ${pid}`);
    return worker;
  }

  async sql<Row extends object = Record<string, unknown>>(
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    const client = new pg.Client(this.#url);
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  async count(from: string): Promise<number> {
    const [row] = await this.sql<{ count: number }>(`select count(*)::int from posthaste.${from}`);
    return row?.count ?? 0;
  }
}
