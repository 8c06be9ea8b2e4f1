/**
 * Tasks write an effect in one commit with their completion, and their worker processes are killed with SIGKILL at random
 * moments. What a dead worker held is given back by SQL. At every moment each completed task has one effect, and no other
 * task has any.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../support/wait-until.ts";
import type { WorkerProcess } from "../support/worker-process.ts";
import { payAndComplete, payInTransaction } from "./effects-app.ts";
import { withEffects, type EffectsStage } from "./effects-stage.ts";

export interface KilledWorkersReport {
  readonly kills: number;
  /** Kills that met a handler between its first line and its last. */
  readonly killsInFlight: number;
  /** Of those, with an effect that was written and not known to be committed. */
  readonly killsAfterEffect: number;
  readonly givenBack: number;
  /** How often effects and completions were compared, and what was wrong. */
  readonly checks: number;
  readonly wrong: readonly string[];
  readonly sent: number;
  readonly completed: number;
  readonly effects: number;
}

export interface KilledWorkersOptions {
  readonly url: string;
  readonly kills: number;
  /** Worker processes at a time. */
  readonly processes: number;
  readonly random: () => number;
}

const SLOTS = 5;
/** Kills come at most this long after the moment that was waited for. */
const SPREAD_MS = 60;
/** Tasks that wait at least, so that a new worker finds something. */
const BACKLOG = 200;

export async function killedWorkers(options: KilledWorkersOptions): Promise<KilledWorkersReport> {
  return withEffects(options.url, (stage) => new Killing(stage, options).run());
}

class Killing {
  readonly #stage: EffectsStage;
  readonly #options: KilledWorkersOptions;
  readonly #deadPids: number[] = [];
  readonly #wrong: string[] = [];
  #toKill: number;
  #inFlight = 0;
  #afterEffect = 0;
  #givenBack = 0;
  #checks = 0;
  #sent = 0;

  constructor(stage: EffectsStage, options: KilledWorkersOptions) {
    this.#stage = stage;
    this.#options = options;
    this.#toKill = options.kills;
  }

  async run(): Promise<KilledWorkersReport> {
    const { processes } = this.#options;
    await this.#topUp();
    await Promise.all(Array.from({ length: processes }, () => this.#killOneAfterTheOther()));
    const last = await this.#stage.startWorker(SLOTS);
    await waitUntil("everything to be completed", () => this.#isDone(), 60_000);
    last.kill("SIGTERM");
    await last.exited;
    const { completed, effects } = await this.#compare();
    return {
      kills: this.#deadPids.length,
      killsInFlight: this.#inFlight,
      killsAfterEffect: this.#afterEffect,
      givenBack: this.#givenBack,
      checks: this.#checks,
      wrong: this.#wrong,
      sent: this.#sent,
      completed,
      effects,
    };
  }

  async #killOneAfterTheOther(): Promise<void> {
    const { random } = this.#options;
    while (this.#toKill-- > 0) {
      const worker = await this.#stage.startWorker(SLOTS);
      // A worker's first handlers wait for connections; most kills come when it is warm.
      const isCold = random() < 0.25;
      await waitUntil(`the ${isCold ? "begin" : "end"} of its first body`, () => {
        const phases = [...this.#phases(worker).values()];
        return isCold ? phases.length > 0 : phases.includes("ended");
      });
      await sleep(random() * SPREAD_MS);
      worker.kill("SIGKILL");
      await worker.exited;
      this.#deadPids.push(worker.pid);
      this.#countBodies(worker);
      await this.#giveBack();
      await this.#compare();
      await this.#topUp();
    }
  }

  /** The last phase of every handler of a process. */
  #phases({ pid }: WorkerProcess): Map<string, string> {
    const file = join(this.#stage.folder, `bodies-${pid}.txt`);
    if (!existsSync(file)) return new Map();
    const lines = readFileSync(file, "utf8").trim().split("\n");
    return new Map(lines.map((line) => line.split(" ") as [string, string]));
  }

  #countBodies(worker: WorkerProcess): void {
    const phases = [...this.#phases(worker).values()];
    if (phases.some((phase) => phase !== "ended")) this.#inFlight++;
    if (phases.includes("written")) this.#afterEffect++;
  }

  /** Of every dead worker: the server may carry out what one had asked for only after its death. */
  async #giveBack(): Promise<void> {
    const { rows } = await this.#stage.sql.query<{ answer: string }>(
      `select posthaste.requeue(held.task_id) as answer
         from posthaste.active_tasks held join posthaste.workers using (worker_id)
        where workers.pid = any ($1) order by held.task_id`,
      [this.#deadPids],
    );
    this.#givenBack += rows.filter(({ answer }) => answer === "requeued").length;
  }

  async #compare(): Promise<{ completed: number; effects: number }> {
    const client = await this.#stage.sql.connect();
    await client.query("begin isolation level repeatable read read only");
    const { rows } = await client.query<Books>(COMPARE);
    await client.query("commit");
    client.release();
    const [books] = rows;
    if (books === undefined) throw new Error("nothing was compared");
    this.#checks++;
    const { completed, effects, unlike } = books;
    if (completed !== effects || unlike > 0)
      this.#wrong.push(`${completed} completed, ${effects} effects, ${unlike} tasks unlike theirs`);
    return books;
  }

  async #topUp(): Promise<void> {
    const { sql, app } = this.#stage;
    const { rows } = await sql.query<{ count: number }>(
      "select count(*)::int as count from posthaste.ready_tasks",
    );
    if ((rows[0]?.count ?? 0) >= BACKLOG) return;
    const items = Array.from({ length: BACKLOG / 2 }, () => undefined);
    this.#sent += BACKLOG;
    await Promise.all([app.sendMany(payInTransaction, items), app.sendMany(payAndComplete, items)]);
  }

  async #isDone(): Promise<boolean> {
    await this.#giveBack();
    return (await this.#compare()).completed === this.#sent;
  }
}

interface Books {
  readonly completed: number;
  readonly effects: number;
  /** Tasks whose number of effects is not that of their completions. */
  readonly unlike: number;
}

const COMPARE = `
  with done as (
    select task_id, count(*) as times from posthaste.finished_tasks where status is null group by task_id
  ), seen as (
    select task_id, count(*) as times from effects group by task_id
  )
  select (select coalesce(sum(times), 0) from done)::int as completed,
         (select coalesce(sum(times), 0) from seen)::int as effects,
         (select count(*) from done full join seen using (task_id)
           where done.times is distinct from 1 or seen.times is distinct from 1)::int as unlike`;
