/**
 * Ends that are not written yet. An end that PostgreSQL has refused waits, with growing pauses, beside those that come after
 * it: it is never written together with them, so that it does not make them fail.
 *
 * An end whose task must not run again after a crash occupies its slot until the end is sent. One batch is under way at a time, and
 * PostgreSQL writes what it has received even if the worker is killed. So a kill costs the results of at most `concurrency`
 * such tasks, however slowly the database writes.
 */
import { Backoff } from "../../runtime/backoff.ts";
import type { TaskEnd } from "../../store/queries/settle/settle-tasks.ts";

/** An end, and whether it occupies a slot until it is sent. */
export interface UnwrittenEnd extends TaskEnd {
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
  /** The part of `#fresh` that was sent. */
  readonly #sent = new Set<TaskEnd>();
  /** How many of the unsent ones occupy a slot. */
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

  /** These ends were sent. A kill of the worker does not stop their write. */
  sent(ends: readonly End[]): void {
    for (const end of ends) this.#sent.add(end);
    this.#recount();
  }

  /** Their write failed or its answer was lost: they count as unsent again. */
  takeBack(): void {
    this.#sent.clear();
    this.#recount();
  }

  hasNext(): boolean {
    if (this.#fresh.length > 0) return true;
    return this.#refused.size > 0 && this.rewriteInMs(performance.now()) <= 0;
  }

  /**
   * The ends to write next: refused ends whose pause is over, or else all others. Each task once, because a statement takes one
   * claim of it. Ends stay in the list until `written`, so a write whose answer was lost is repeated.
   */
  next(now: number): readonly End[] {
    const due = this.#refused.size === 0 ? [] : this.#due(now);
    return firstOfEach(due.length > 0 ? due : this.#fresh, this.#most);
  }

  written(ends: readonly TaskEnd[]): void {
    const gone = new Set<TaskEnd>(ends);
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

  /** PostgreSQL refused this end alone. It is written again after a pause. */
  refuse(end: End, now: number): Refused {
    const isFirst = !this.#refused.has(end);
    const refusal = this.#wait(end, now);
    if (refusal.count === 0 || refusal.isOtherWritten) refusal.count++;
    refusal.isOtherWritten = false;
    return { isFirst, count: refusal.count };
  }

  /** PostgreSQL refused other ends of the statement. This one is written again after a pause, and its refusals are not counted. */
  postpone(end: End, now: number): void {
    this.#wait(end, now);
  }

  /** Infinity: nothing waits. */
  rewriteInMs(now: number): number {
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

function isReturn({ edge }: TaskEnd): boolean {
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
