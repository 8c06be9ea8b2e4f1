/**
 * Whether a worker may judge the silence of others. A worker that cannot write its own heartbeats must not: what keeps it from
 * writing, a lock on a table or a full disk, keeps the others from writing too. Nor may it right after it can write again, because
 * the others need a moment as well.
 */

/** Every living worker is heard again within this: a session is given up after 5 s, and opened again after 1 s at most. */
const RETURN_MS = 15_000;
/** Heartbeats that may be missing before it counts as a break. */
const MISSED_BEATS = 3;
const HICCUP_MS = 500;
/**
 * Of the threshold: how old its own last heartbeat may be. When something stops all heartbeats at once, those of the others can be
 * older by one interval, which is at most half of a threshold; so they do not reach the threshold before this one stops judging.
 */
const OWN_AGE = 0.45;

export class HeardSteadily {
  readonly #longestGapMs: number;
  #heardAt = -Infinity;
  #since = -Infinity;

  constructor(beatMs: number) {
    this.#longestGapMs = MISSED_BEATS * beatMs + HICCUP_MS;
  }

  heard(now: number): void {
    if (now - this.#heardAt > this.#longestGapMs) this.#since = now;
    this.#heardAt = now;
  }

  mayJudge(thresholdMs: number, now: number): boolean {
    const isHeard = now - this.#heardAt <= Math.min(this.#longestGapMs, OWN_AGE * thresholdMs);
    return isHeard && now - this.#since >= Math.min(thresholdMs, RETURN_MS);
  }
}
