/**
 * Ends that are not written yet. An end that PostgreSQL has refused waits, with growing pauses, beside those that come after
 * it: it is never written together with them, so that it does not make them fail.
 */
import { Backoff } from "../runtime/backoff.ts";
import type { SettledTask } from "../store/queries/settle-tasks.ts";

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

export class EndList<End extends SettledTask> {
  readonly #most: number;
  #fresh: End[] = [];
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

  add(end: End): void {
    this.#fresh.push(end);
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
    }
    refusal.retryAt = now + refusal.backoff.next();
    return refusal;
  }

  #due(now: number): End[] {
    const due: End[] = [];
    for (const [end, { retryAt }] of this.#refused) if (retryAt <= now) due.push(end);
    return due;
  }
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
