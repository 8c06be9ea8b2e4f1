/**
 * Adds up the ends of a worker by minute, task and queue, for `admin.stats()`. The liveness thread writes the sums with the samples of
 * the worker, so ends cost no statement. A killed worker loses the counts of half a minute.
 */
import { addTo } from "../../domain/histogram.ts";
import { TaskStatus } from "../../domain/task-lifecycle.ts";
import type { DescribedTask } from "../../store/queries/read/describe-tasks.ts";
import type { SettleReply } from "../../store/queries/settle/settle-tasks.ts";
import type { Rollup } from "../../store/queries/statistics/write-rollups.ts";
import type { EndedTask } from "./ended-task.ts";

const MINUTE_MS = 60_000;

/** When an attempt ran, by `performance.now()`. */
export interface AttemptTimes {
  readonly beganAt: number;
  readonly endedAt: number;
}

type Counts = Record<"completed" | "failed" | "cancelled" | "expired" | "retried", number>;

interface Entry extends Counts {
  readonly minute: number | null;
  readonly name: string;
  readonly queue: string;
  readonly wait: number[];
  readonly run: number[];
}

/** An attempt of a task whose end is stored. */
interface CountedTask {
  readonly name: string;
  readonly queue: string;
  readonly enqueuedAt?: number;
  readonly times?: AttemptTimes;
}

export class Rollups {
  #entries: Entry[] = [];
  /** Those of the present minute, by name and queue. */
  #byName = new Map<string, Map<string, Entry>>();
  #minute: number | null = null;
  /** The database's clock minus `performance.now()`. Undefined before the worker is registered. */
  #databaseClockAhead: number | undefined;

  /** @param ahead the database's clock minus `performance.now()` */
  setClock(ahead: number): void {
    this.#databaseClockAhead = ahead;
  }

  /** Ends of a commit in which every claim was found. */
  written(ends: readonly EndedTask[], { overridden }: SettleReply): void {
    this.#turnMinute();
    if (overridden.length === 0) {
      for (const end of ends) this.#count(countOf(end), end);
      return;
    }
    const statuses = new Map(overridden.map(({ id, status }) => [id, status]));
    for (const end of ends) this.#count(countOf(end, statuses.get(end.id)), end);
  }

  /** Ends that an earlier try may have written: those whose claim is stored, with their status. */
  found(ends: readonly EndedTask[], statuses: ReadonlyMap<string, string>): void {
    this.#turnMinute();
    for (const end of ends)
      if (statuses.has(end.id)) this.#count(countOf(end, statuses.get(end.id)), end);
  }

  /** The transaction of its handler has completed the task. */
  completed(task: CountedTask): void {
    this.#turnMinute();
    this.#count("completed", task);
  }

  /** Tasks that a claim or a start has ended because their deadline had passed. */
  expired(tasks: readonly DescribedTask[]): void {
    this.#turnMinute();
    for (const task of tasks) this.#count("expired", task);
  }

  /** Everything since the last call. */
  take(): readonly Rollup[] {
    const taken = this.#entries;
    this.#entries = [];
    this.#byName = new Map();
    return taken;
  }

  #count(kind: keyof Counts | undefined, task: CountedTask): void {
    if (kind === undefined) return;
    const entry = this.#entryOf(task.name, task.queue);
    entry[kind]++;
    const { times, enqueuedAt } = task;
    if (times === undefined) return;
    addTo(entry.run, times.endedAt - times.beganAt);
    if (this.#databaseClockAhead !== undefined && enqueuedAt !== undefined)
      addTo(entry.wait, times.beganAt + this.#databaseClockAhead - enqueuedAt);
  }

  #entryOf(name: string, queue: string): Entry {
    let byQueue = this.#byName.get(name);
    if (byQueue === undefined) this.#byName.set(name, (byQueue = new Map()));
    let entry = byQueue.get(queue);
    if (entry === undefined) {
      const counts = { completed: 0, failed: 0, cancelled: 0, expired: 0, retried: 0 };
      entry = { minute: this.#minute, name, queue, ...counts, wait: [], run: [] };
      byQueue.set(queue, entry);
      this.#entries.push(entry);
    }
    return entry;
  }

  #turnMinute(): void {
    const ahead = this.#databaseClockAhead;
    if (ahead === undefined) return;
    const now = performance.now() + ahead;
    if (this.#minute !== null && now >= this.#minute && now < this.#minute + MINUTE_MS) return;
    this.#minute = Math.floor(now / MINUTE_MS) * MINUTE_MS;
    this.#byName = new Map();
  }
}

/** The count that an end belongs to. Undefined: the task returned to its queue, and no attempt has failed. */
function countOf({ edge, ran }: EndedTask, status?: string): keyof Counts | undefined {
  if (status === TaskStatus.CANCELLED) return "cancelled";
  if (edge === "succeed") return "completed";
  if (edge === "fail" || status === TaskStatus.FAILED) return "failed";
  if (edge === "expire") return "expired";
  return edge === "retry" && ran ? "retried" : undefined;
}
