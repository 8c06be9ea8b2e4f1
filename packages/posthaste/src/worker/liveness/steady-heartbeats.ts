/**
 * Whether a worker may judge the silence of others. A worker that cannot write its own heartbeats must not: the cause, a lock
 * on a table or a full disk, stops the heartbeats of other workers too. Nor may it right after it can write again, because the others
 * need a moment as well.
 */

/** Every living worker writes heartbeats again within this: a session is replaced after 5 s, and opened after 1 s at most. */
const RETURN_MS = 15_000;
/** This many missing heartbeats count as a break. */
const MISSED_BEATS = 3;
const HICCUP_MS = 500;
/**
 * The part of the threshold that its own last heartbeat may be old. When all heartbeats stop at once, those of other workers can be older
 * by one interval, at most half of a threshold, so they do not reach the threshold before this worker stops judging.
 */
const OWN_AGE = 0.45;

export class SteadyHeartbeats {
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
