/**
 * Ends that are not written yet. An end that PostgreSQL has refused waits, with growing pauses, beside those that come after
 * it: it is never written together with them, so that it does not make them fail.
 *
 * An end whose task must not run again after a crash occupies its slot until the end is sent. One batch is under way at a time, and
 * PostgreSQL writes what it has received even if the worker is killed. So a kill costs the results of at most `concurrency`
 * such tasks, however slowly the database writes.
 */
import { Backoff } from "../../runtime/backoff.ts";
import type { SettledTask } from "../../store/queries/settle-tasks.ts";

/** An end, and whether it occupies a slot until it is sent. */
export interface UnwrittenEnd extends SettledTask {
  readonly occupiesSlot?: boolean;
}

/** A disk that has room again is noticed within the longest; five refusals in a row take about eight seconds. */
const pauses = { initialMs: 500, maxMs: 5_000 };

interface Refusal {
  readonly backoff: Backoff;
  retryAt: number;
  count: number;
  isOtherWritten: boolean;
}

export interface Refused {
  readonly isFirst: boolean;
  /** How often it was refused alone, another end with its edge having been written since the time before. */
  readonly count: number;
}

export class EndList<End extends UnwrittenEnd> {
  readonly #most: number;
  #fresh: End[] = [];
  /** Those of `#fresh` that are on their way to the server. */
  readonly #sent = new Set<SettledTask>();
  /** How many of the others occupy a slot. */
  #occupying = 0;
  /** Tasks that are in a queue again when their end is written. */
  readonly #returning = new Set<string>();
  readonly #refused = new Map<End, Refusal>();

  /** @param most ends in one statement */
  constructor(most: number) {
    this.#most = most;
  }

  get length(): number {
    return this.#fresh.length + this.#refused.size;
  }

  get refusedCount(): number {
    return this.#refused.size;
  }

  [Symbol.iterator](): Iterator<End> {
    return [...this.#fresh, ...this.#refused.keys()].values();
  }

  /** Slots that are not free before ends of this list are sent. A refused end keeps its slot until it is written. */
  get occupiedSlots(): number {
    return this.#occupying + this.#refused.size;
  }

  /** Whether the task of this id is in a queue again as soon as its end is written. */
  isReturning(id: string): boolean {
    return this.#returning.has(id);
  }

  add(end: End): void {
    this.#fresh.push(end);
    if (end.occupiesSlot === true) this.#occupying++;
    if (isReturn(end)) this.#returning.add(end.id);
  }

  /** These are on their way to the server. A kill of the worker does not stop them. */
  sent(ends: readonly End[]): void {
    for (const end of ends) this.#sent.add(end);
    this.#recount();
  }

  /** The answer is lost, or was a refusal. */
  notSent(): void {
    this.#sent.clear();
    this.#recount();
  }

  hasNext(): boolean {
    if (this.#fresh.length > 0) return true;
    return this.#refused.size > 0 && this.retryInMs(performance.now()) <= 0;
  }

  /**
   * What to write next: refused ends whose pause is over, or else all others. Each task once: a statement knows one claim
   * of it. They stay until `written`: a write whose fate is unknown is repeated.
   */
  next(now: number): readonly End[] {
    const due = this.#refused.size === 0 ? [] : this.#due(now);
    return firstOfEach(due.length > 0 ? due : this.#fresh, this.#most);
  }

  written(ends: readonly SettledTask[]): void {
    const gone = new Set<SettledTask>(ends);
    this.#fresh = this.#fresh.filter((end) => !gone.has(end));
    for (const end of ends) this.#sent.delete(end);
    this.#recount();
    for (const end of ends) if (isReturn(end)) this.#returning.delete(end.id);
    if (this.#refused.size === 0) return;
    const edges = new Set(ends.map(({ edge }) => edge));
    for (const [end, refusal] of this.#refused) {
      if (gone.has(end)) this.#refused.delete(end);
      else if (edges.has(end.edge)) refusal.isOtherWritten = true;
    }
  }

  /** It was refused alone, and is tried again after a pause. */
  refuse(end: End, now: number): Refused {
    const isFirst = !this.#refused.has(end);
    const refusal = this.#wait(end, now);
    if (refusal.count === 0 || refusal.isOtherWritten) refusal.count++;
    refusal.isOtherWritten = false;
    return { isFirst, count: refusal.count };
  }

  /** Others of its statement were refused: it is tried again after a pause, and nothing is said of it. */
  postpone(end: End, now: number): void {
    this.#wait(end, now);
  }

  /** Infinity: nothing waits. */
  retryInMs(now: number): number {
    let earliest = Infinity;
    for (const { retryAt } of this.#refused.values()) earliest = Math.min(earliest, retryAt);
    return earliest - now;
  }

  /** Pauses are over: there is time for one more try. */
  retryNow(): void {
    for (const refusal of this.#refused.values()) refusal.retryAt = -Infinity;
  }

  #wait(end: End, now: number): Refusal {
    let refusal = this.#refused.get(end);
    if (refusal === undefined) {
      refusal = { backoff: new Backoff(pauses), retryAt: 0, count: 0, isOtherWritten: false };
      this.#refused.set(end, refusal);
      this.#fresh = this.#fresh.filter((each) => each !== end);
      this.#recount();
    }
    refusal.retryAt = now + refusal.backoff.next();
    return refusal;
  }

  #recount(): void {
    this.#occupying = 0;
    for (const end of this.#fresh)
      if (end.occupiesSlot === true && !this.#sent.has(end)) this.#occupying++;
  }

  #due(now: number): End[] {
    const due: End[] = [];
    for (const [end, { retryAt }] of this.#refused) if (retryAt <= now) due.push(end);
    return due;
  }
}

function isReturn({ edge }: SettledTask): boolean {
  return edge === "retry" || edge === "requeue" || edge === "release";
}

/** Each task once. */
export function firstOfEach<Task extends { readonly id: string }>(
  tasks: readonly Task[],
  most: number,
): Task[] {
  const next = new Map<string, Task>();
  for (const task of tasks) {
    if (next.size >= most) break;
    if (!next.has(task.id)) next.set(task.id, task);
  }
  return [...next.values()];
}
