/**
 * Operators, who do by chance what operators do: take ends back, cancel, move, copy and delete tasks, pause queues, and steer
 * schedules. Their network is not faulty; the server that they talk to is.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { posthaste, PosthasteError, type Posthaste, type RetryableStatus } from "posthaste";
import { silentLogger } from "../packages/posthaste/test/support/loggers.ts";
import { clientFile, writeLine, type ClientNote } from "./ledger.ts";
import { isUnknown } from "./producers.ts";
import { seededRandom, type Random } from "./random.ts";
import { codeSchedules, madeNames, rollSchedule, scheduledTasks } from "./schedules.ts";
import type { Stage } from "./stage.ts";
import { queues, tasks } from "./tasks.ts";

export interface OperatorsOptions {
  readonly stage: Stage;
  readonly seed: number;
  readonly count: number;
}

/** One thing that an operator does, chosen as often as its weight says. */
interface Doing {
  readonly weight: number;
  readonly act: (random: Random) => Promise<void>;
}

const PAUSE_MS = [50, 400] as const;
/** A bulk action takes what ended or was sent in this time: the same tasks are not retried over and over. */
const RECENT_MS = 10_000;
const NEW_DEADLINE_MS = 20_000;
const MOST_PAUSE_MS = 2_000;
/** At the end, what is due is fired before all schedules are paused. */
const FIRED_WITHIN_MS = 60_000;

const retryable: readonly RetryableStatus[] = ["FAILED", "CANCELLED", "EXPIRED"];
/** A task that kills its worker is retried by hand now and then, not by the hundred. */
const bulkNames = [...tasks, ...scheduledTasks]
  .map(({ name }) => name)
  .filter((name) => name !== "poison");

export class Operators {
  readonly #app: Posthaste;
  readonly #stage: Stage;
  readonly #working: Promise<unknown>;
  #isOver = false;
  #isResting = false;
  #error: unknown;

  constructor({ stage, seed, count }: OperatorsOptions) {
    this.#stage = stage;
    this.#app = posthaste({
      database: stage.server.url,
      tasks: [...tasks, ...scheduledTasks],
      queues,
      logger: silentLogger,
      resilience: { notifyPollIntervalMs: 1_000 },
    });
    const randoms = Array.from({ length: count }, (_, n) => seededRandom(seed * 1_000 + 800 + n));
    this.#working = Promise.all(randoms.map((random) => this.#work(random)));
    this.#working.catch((error: unknown) => (this.#error = error)); // stop() throws it
  }

  /** Until `goOn`, nothing is done by hand. Schedules fire. */
  rest(): void {
    this.#isResting = true;
  }

  goOn(): void {
    this.#isResting = false;
  }

  /**
   * Nothing more is done. Schedules fire what is due, then all are paused. Returns how many were still due after a bounded time:
   * none, if any worker fires.
   */
  async stop(): Promise<number> {
    this.#isOver = true;
    await this.#working;
    if (this.#error !== undefined) throw this.#error;
    let late = await this.#lateSchedules();
    for (const end = Date.now() + FIRED_WITHIN_MS; late > 0 && Date.now() < end; await sleep(200))
      late = await this.#lateSchedules();
    for (const { name } of await this.#app.admin.schedules.list())
      await this.#app.admin.schedules.pause(name);
    return late;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.race([this.#app.close(), sleep(5_000, undefined, { ref: false })]);
  }

  async #work(random: Random): Promise<void> {
    const doings = this.#doings();
    const total = doings.reduce((sum, { weight }) => sum + weight, 0);
    while (!this.#isOver) {
      let place = random.next() * total;
      const chosen = doings.find(({ weight }) => (place -= weight) < 0);
      if (!this.#isResting) await chosen?.act(random);
      await sleep(random.between(...PAUSE_MS));
    }
  }

  #doings(): readonly Doing[] {
    const { tasks: ofTasks, queues: ofQueues, schedules } = this.#app.admin;
    const names = [...codeSchedules.map(({ name }) => name), ...madeNames];
    const onSchedule = (
      what: string,
      act: (name: string) => Promise<unknown>,
    ): ((random: Random) => Promise<void>) => {
      return async (random) => {
        const name = random.pick(names);
        await this.#told(what, name, () => act(name));
      };
    };
    return [
      { weight: 10, act: (random) => this.#retryOne(random) },
      { weight: 6, act: (random) => this.#retrySeveral(random) },
      // A task whose worker was frozen is retried before that worker goes on.
      { weight: 6, act: () => this.#retryCrashed() },
      {
        weight: 3,
        act: async (random) => {
          const [name, since] = [random.pick(bulkNames), new Date(Date.now() - RECENT_MS)];
          await this.#told("cancel several", name, () => ofTasks.cancel({ name, since }));
        },
      },
      { weight: 5, act: (random) => this.#move(random) },
      {
        weight: 4,
        act: async (random) => {
          // A child belongs to the claim that sent it.
          const id = await this.#find(
            random,
            { status: "FAILED" },
            ({ name }) => name !== "child" && name !== "poison",
          );
          if (id !== undefined) await this.#told("send again", id, () => ofTasks.sendAgain(id));
        },
      },
      {
        weight: 5,
        act: async (random) => {
          const { name } = random.pick(scheduledTasks);
          const status = random.pick(["PENDING", "FAILED", "CANCELLED", "COMPLETED"] as const);
          const id = await this.#find(random, { name, status });
          if (id !== undefined) await this.#told("delete", id, () => ofTasks.delete(id));
        },
      },
      {
        weight: 1,
        act: async (random) => {
          const name = random.pick(["aside", "default", "narrow"]);
          await this.#told("pause queue", name, () => ofQueues.pause(name));
          await sleep(random.between(100, MOST_PAUSE_MS));
          await this.#told("resume queue", name, () => ofQueues.resume(name));
        },
      },
      {
        weight: 6,
        act: async (random) => {
          const schedule = rollSchedule(random);
          await this.#told("upsert schedule", schedule.name, () => schedules.upsert(schedule));
        },
      },
      { weight: 3, act: onSchedule("trigger schedule", (name) => schedules.trigger(name)) },
      { weight: 3, act: onSchedule("pause schedule", (name) => schedules.pause(name)) },
      // Most of the time most of them fire.
      { weight: 9, act: onSchedule("resume schedule", (name) => schedules.resume(name)) },
      {
        weight: 2,
        act: async (random) => {
          const name = random.pick(madeNames);
          await this.#told("delete schedule", name, () => schedules.delete(name));
        },
      },
    ];
  }

  /** Every third time two operators at once, of whom one may come too late. */
  async #retryOne(random: Random): Promise<void> {
    const status = random.pick(retryable);
    const isRace = random.chance(0.3);
    const id = await this.#find(random, { status }, ({ workflowId }) => workflowId === null);
    if (id === undefined) return;
    const retry = (): Promise<unknown> =>
      this.#told(isRace ? "race for a retry" : "retry", id, () =>
        this.#app.admin.tasks.retry(id, { goodUntil: new Date(Date.now() + NEW_DEADLINE_MS) }),
      );
    await Promise.all(isRace ? [retry(), retry()] : [retry()]);
  }

  async #retrySeveral(random: Random): Promise<void> {
    const [name, status] = [random.pick(bulkNames), random.pick(retryable)];
    const filter = { name, status, since: new Date(Date.now() - RECENT_MS) };
    const options = {
      goodUntil: new Date(Date.now() + NEW_DEADLINE_MS),
      ...(random.chance(0.5) && { maxPerSecond: 50 }),
    };
    const retry = (): Promise<unknown> =>
      this.#told("retry several", name, () => this.#app.admin.tasks.retry(filter, options));
    await Promise.all(random.chance(0.3) ? [retry(), retry()] : [retry()]);
  }

  async #retryCrashed(): Promise<void> {
    const filter = { name: "once-only", errorCode: "WORKER_CRASHED" };
    const since = new Date(Date.now() - RECENT_MS);
    await this.#told("retry several", filter.name, () =>
      this.#app.admin.tasks.retry({ ...filter, since }),
    );
  }

  async #move(random: Random): Promise<void> {
    const priority = random.between(1, 100);
    const isNow = random.chance(0.5);
    const id = await this.#find(random, { status: "PENDING" });
    if (id === undefined) return;
    const { tasks: ofTasks } = this.#app.admin;
    await (isNow
      ? this.#told("run now", id, () => ofTasks.runNow(id))
      : this.#told("set priority", id, () => ofTasks.setPriority(id, priority)));
  }

  /** One of the latest; undefined: there is none, or nobody can say. */
  async #find(
    random: Random,
    which: {
      readonly status: RetryableStatus | "PENDING" | "COMPLETED";
      readonly name?: string;
    },
    isFit: (task: { readonly name: string; readonly workflowId: string | null }) => boolean = () =>
      true,
  ): Promise<string | undefined> {
    try {
      const page = await this.#app.admin.tasks.list({ ...which, limit: 20 });
      const fit = page.tasks.filter(isFit);
      return fit.length === 0 ? undefined : random.pick(fit).id;
    } catch (error) {
      if (!isUnknown(error)) throw error;
      return undefined;
    }
  }

  async #told(what: string, target: string, ask: () => Promise<unknown>): Promise<void> {
    const note = (type: ClientNote["type"], answer?: unknown): void =>
      writeLine(clientFile(this.#stage.folder), {
        op: `operator: ${what}`,
        type,
        task: target,
        ...(answer !== undefined && { answer }),
        at: new Date().toISOString(),
      } satisfies ClientNote);
    note("invoked");
    try {
      note("ok", await ask());
    } catch (error) {
      if (!isRefused(error) && !isUnknown(error)) throw error;
      note(isRefused(error) ? "refused" : "unknown");
    }
  }

  async #lateSchedules(): Promise<number> {
    return this.#stage.ask(async (client) => {
      const { rows } = await client.query<{ late: number }>(LATE_SCHEDULES);
      return rows[0]?.late ?? 0;
    });
  }
}

/** The task, or the schedule, is not there any more, or is not in a state in which that can be done. */
function isRefused(error: unknown): boolean {
  return (
    error instanceof PosthasteError &&
    ["TASK_NOT_FOUND", "SCHEDULE_NOT_FOUND", "VALIDATION_FAILED"].includes(error.code)
  );
}

const LATE_SCHEDULES = `
  select count(*)::int as late from posthaste.schedules
   where paused_at is null and due_at < clock_timestamp() - interval '5 seconds'`;
