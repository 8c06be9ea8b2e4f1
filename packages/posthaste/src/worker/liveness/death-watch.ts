/**
 * What the one worker that looks after the others has seen with its own eyes. PostgreSQL remembers since when a lock is
 * missing; that is not enough to call somebody dead, because the clock of a server can jump, and because nobody looked
 * while the watcher was frozen or away. So the whole grace must have passed in front of a watcher, by its own monotonic
 * clock and without a gap in its looks. Only who takes over from one that looked until a moment ago believes what that has
 * written down: otherwise nobody would be found while watchers die one after the other.
 */
import type { Look, MissingWorker } from "../../store/queries/liveness.ts";

export class DeathWatch {
  readonly #graceMs: number;
  /** Between two looks; more, and what was seen before is forgotten. */
  readonly #longestGapMs: number;
  #missingSince = new Map<string, number>();
  #lookedAt = -Infinity;

  constructor(graceMs: number, lookEveryMs: number) {
    this.#graceMs = graceMs;
    this.#longestGapMs = 3 * lookEveryMs + 1_000;
  }

  /** Returns those that have been missing for the whole grace. */
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

  /** When to look again at the latest: a grace that ends earlier than the next look is not made to wait for it. */
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

/** A worker that comes back has another key, and begins anew. */
function keyOf({ workerId, key }: MissingWorker): string {
  return `${workerId}/${key}`;
}
