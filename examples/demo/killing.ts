/** One worker is killed, and what the others do about it is told as it happens. */
import type pg from "pg";
import { tell } from "./progress.ts";
import type { WorkerProcess } from "./worker-process.ts";

export class Killing {
  readonly #client: pg.Client;
  readonly #schema: string;
  #killedAt: number | undefined;
  #name = "";
  #isNoticed = false;
  #told = 0;

  constructor(client: pg.Client, schema: string) {
    this.#client = client;
    this.#schema = schema;
  }

  get isDone(): boolean {
    return this.#killedAt !== undefined;
  }

  /** No goodbye: the process is gone in the middle of whatever it does. */
  async kill(worker: WorkerProcess): Promise<void> {
    worker.kill("SIGKILL");
    await worker.exited;
    this.#killedAt = Date.now();
    this.#name = worker.name;
    const [held] = await this.#rows<{ count: string }>(
      `select count(*) from ${this.#schema}.active_tasks join ${this.#schema}.workers using (worker_id) where name = $1`,
    );
    tell(
      `${worker.name} gets SIGKILL; it held ${held?.count} tasks, and nobody has told the others`,
    );
  }

  /** Says what has been found out since the last look. */
  async look(): Promise<void> {
    if (this.#killedAt === undefined) return;
    const after = `${((Date.now() - this.#killedAt) / 1_000).toFixed(1)} s after the kill`;
    const [worker] = await this.#rows<{ state: string }>(
      `select state from ${this.#schema}.workers where name = $1`,
    );
    if (!this.#isNoticed && worker?.state === "dead") {
      this.#isNoticed = true;
      tell(`${after}: ${this.#name} has been noticed to be dead`);
    }
    const rows = await this.#rows<{ decision: string; count: string }>(
      `select decision, count(*) from ${this.#schema}.recoveries join ${this.#schema}.workers using (worker_id)
        where name = $1 group by decision order by decision`,
    );
    const recovered = rows.reduce((sum, { count }) => sum + Number(count), 0);
    if (recovered === this.#told) return;
    this.#told = recovered;
    const decided = rows.map(({ decision, count }) => `${decision} ${count}`).join(", ");
    tell(`${after}: its tasks are taken over by rule: ${decided}`);
  }

  async #rows<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
    return (await this.#client.query<Row>(text, [this.#name])).rows;
  }
}
