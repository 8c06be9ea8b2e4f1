/**
 * The scheduler of a process: sleeps until the next slot is due, fires, and looks again. A notification about a changed schedule wakes it, and it
 * looks by itself every half minute. The leader fires at once; other processes fire what is 2 s late.
 */
import { isRepeatable } from "../database/repeat-safely.ts";
import type { Logger } from "../domain/logger.ts";
import type { HookRunner } from "../hooks/hook-runner.ts";
import { Backoff } from "../runtime/backoff.ts";
import type { Listener } from "../runtime/listener.ts";
import { WakeSignal } from "../runtime/wake-signal.ts";
import type { OutgoingTask } from "../sending/compose-task.ts";
import { schedulesChannel } from "../store/channels.ts";
import { Link } from "../store/link.ts";
import { cancelTask } from "../waiting/cancel-task.ts";
import { cancelWorkflow } from "../workflows/steer-workflow.ts";
import type { BusySchedule } from "../store/queries/schedule/lock-schedules.ts";
import { fireSchedules, type FiringParts, type Firings } from "./fire-schedules.ts";
import { reportFirings } from "./report-firings.ts";

export interface SchedulerSetup extends Omit<FiringParts, "link"> {
  readonly listener: Listener;
  readonly hooks: HookRunner;
  readonly log: Logger;
  /** The schedules in this process's code. */
  readonly listed: readonly string[];
  /** The leader fires at once. Behind a pooler every process leads. */
  readonly isLeader: () => boolean;
  /** Tasks were sent, and that is committed. */
  readonly onSent: (tasks: readonly OutgoingTask[]) => void;
}

/** After this time a process that does not lead fires, too. */
const TAKE_OVER_MS = 2_000;
const LOOK_EVERY_MS = 30_000;
/** How often the end of a task is looked for that a buffered slot waits for. */
const BUFFERED_EVERY_MS = 1_000;
/** How often the process says that these schedules are in its code: after 10 minutes of silence they are orphaned. */
const LIST_EVERY_MS = 120_000;

export class Scheduler {
  readonly #options: SchedulerSetup;
  readonly #parts: FiringParts;
  readonly #wakeSignal = new WakeSignal();
  readonly #unsubscribe: () => void;
  readonly #done: Promise<void>;
  /** Schedules that this process cannot fire: left to others until the next look by itself. */
  readonly #except = new Set<string>();
  /** Reported once. */
  readonly #reported = new Set<string>();
  #orphaned: ReadonlySet<string> = new Set();
  #isStopped = false;
  #listAt = 0;
  #forgetAt = 0;

  constructor(options: SchedulerSetup) {
    this.#options = options;
    const { database, listener } = options;
    const link = new Link(() => database.open("sends", "schedules"));
    this.#parts = { ...options, link };
    const onChange = (): void => {
      this.#except.clear();
      this.wake();
    };
    const subscription = listener.subscribe(schedulesChannel(database.store.schema), {
      onMessage: onChange,
      onUp: onChange,
    });
    this.#unsubscribe = () => subscription.unsubscribe();
    this.#done = this.#loop();
  }

  /** Looks now: this process begins to lead. */
  wake(): void {
    this.#wakeSignal.wake();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#wakeSignal.wake();
    await this.#done;
    await this.#parts.link.close();
  }

  async #loop(): Promise<void> {
    const backoff = new Backoff({ initialMs: 500, maxMs: 5_000 });
    while (!this.#isStopped) {
      let restMs: number;
      try {
        restMs = await this.#round();
        backoff.reset();
      } catch (error) {
        restMs = backoff.next();
        // The worker itself logs that the database is unreachable.
        this.#options.log[isRepeatable(error) ? "debug" : "warn"](
          { error: String(error), retryInMs: Math.round(restMs) },
          "scheduler could not fire; retrying",
        );
      }
      if (!this.#isStopped) await this.#wakeSignal.wait(restMs);
    }
  }

  /** Returns how long to sleep. */
  async #round(): Promise<number> {
    const { database, isLeader } = this.#options;
    const { store, reads } = database;
    const now = performance.now();
    if (now >= this.#listAt) await this.#list(now);
    if (now >= this.#forgetAt) {
      this.#except.clear();
      this.#forgetAt = now + LOOK_EVERY_MS;
    }
    const look = await store.watchSchedules(reads, null, [...this.#except]);
    this.#reportOrphaned(look.orphaned);
    const lateMs = isLeader() ? 0 : TAKE_OVER_MS;
    const dueInMs = (look.dueInMs ?? Infinity) + lateMs;
    if (dueInMs <= 0) await this.#fire({ lateMs });
    if (look.hasBuffered && isLeader()) {
      await this.#cancel(look.toCancel);
      await this.#fire("buffered");
    }
    if (dueInMs <= 0) return 0;
    return Math.min(dueInMs, look.hasBuffered ? BUFFERED_EVERY_MS : LOOK_EVERY_MS);
  }

  async #fire(which: { readonly lateMs: number } | "buffered"): Promise<void> {
    let firings: Firings;
    do {
      const question = { now: null, which, except: [...this.#except] };
      firings = await fireSchedules(this.#parts, question);
      this.#report(firings);
    } while (firings.isFull && !this.#isStopped);
  }

  #report(firings: Firings): void {
    const { log, hooks, onSent } = this.#options;
    onSent(firings.tasks);
    reportFirings(firings.plans, hooks.emit, log);
    // Another process may have a definition that takes the input: it fires what is 2 s late.
    for (const { row, error } of firings.plans) if (error !== undefined) this.#except.add(row.name);
    for (const schedule of firings.unknown) {
      this.#except.add(schedule);
      if (this.#reported.has(schedule)) continue;
      this.#reported.add(schedule);
      log.warn(
        { schedule },
        "schedule has a pattern or policy that this version does not know; leaving it to newer ones",
      );
    }
  }

  /** Repeated in every look until they have ended: a process that asked for the cancellation may have died before it. */
  async #cancel(busy: readonly BusySchedule[]): Promise<void> {
    const { database, hooks } = this.#options;
    for (const { taskId, runId } of busy) {
      if (taskId !== null) await cancelTask(database, hooks, taskId);
      else if (runId !== null) await cancelWorkflow(database, hooks, runId);
    }
  }

  async #list(now: number): Promise<void> {
    const { database, listed } = this.#options;
    if (listed.length > 0) await database.store.storeSchedules.list(database.reads, listed);
    this.#listAt = now + LIST_EVERY_MS;
  }

  #reportOrphaned(names: readonly string[]): void {
    for (const schedule of names) {
      if (this.#orphaned.has(schedule)) continue;
      this.#options.log.warn(
        { schedule },
        "schedule orphaned; it does not fire until a living process has it in its code",
      );
    }
    this.#orphaned = new Set(names);
  }
}
