/**
 * Which workers have been missing for the whole grace. PostgreSQL stores since when a worker's lock is missing, which is not enough to
 * declare it dead: the clock of the server can jump, and the leader may have been frozen or cut off. So the leader must see the lock
 * missing for the whole grace, by its own monotonic clock and without a gap. Only a leader that takes over from one that looked a
 * moment ago trusts the stored time; otherwise no worker would be declared dead while leaders die one after the other.
 */
import type { Look, MissingWorker } from "../../store/queries/worker/liveness.ts";

export class MissingWorkers {
  readonly #graceMs: number;
  /** The longest time between two looks; after a longer gap the earlier looks are dropped. */
  readonly #longestGapMs: number;
  #missingSince = new Map<string, number>();
  #lookedAt = -Infinity;

  constructor(graceMs: number, lookEveryMs: number) {
    this.#graceMs = graceMs;
    this.#longestGapMs = 3 * lookEveryMs + 1_000;
  }

  /** Returns the workers that have been missing for the whole grace. */
  look({ missing, isHandover }: Look, now: number): MissingWorker[] {
    const isFirst = this.#lookedAt === -Infinity;
    const isBlank = now - this.#lookedAt > this.#longestGapMs;
    const before = isBlank ? new Map<string, number>() : this.#missingSince;
    const credited = (worker: MissingWorker): number =>
      isFirst && isHandover ? now - worker.missingMs : now;
    this.#lookedAt = now;
    this.#missingSince = new Map(
      missing.map((worker) => [keyOf(worker), before.get(keyOf(worker)) ?? credited(worker)]),
    );
    return missing.filter((worker) => this.#leftMs(worker, now) <= 0);
  }

  /** When to look again: at the next interval, or when a grace ends before that. */
  nextLookMs(everyMs: number, now: number): number {
    let next = everyMs;
    for (const since of this.#missingSince.values()) {
      const left = since + this.#graceMs - now;
      if (left > 0) next = Math.min(next, left);
    }
    return next;
  }

  #leftMs(worker: MissingWorker, now: number): number {
    return (this.#missingSince.get(keyOf(worker)) ?? now) + this.#graceMs - now;
  }
}

/** A worker that comes back has another key, and its grace starts again. */
function keyOf({ workerId, key }: MissingWorker): string {
  return `${workerId}/${key}`;
}
