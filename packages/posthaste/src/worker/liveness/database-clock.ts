/** How far the database's clock is ahead of the monotonic clock, from the answers to heartbeats. */

/** After this time an answer is replaced by a slower one: clocks drift. */
const KEEP_MS = 60_000;

export class DatabaseClock {
  #aheadMs = 0;
  #tookMs = Infinity;
  #answeredAt = -Infinity;

  /**
   * Keeps the fastest answer of the last minute: the clock was read at some time between question and answer, and the middle is taken.
   *
   * @param readMs what the database said
   */
  answered(readMs: number, askedAt: number, answeredAt: number): void {
    const tookMs = answeredAt - askedAt;
    if (tookMs > this.#tookMs && answeredAt - this.#answeredAt < KEEP_MS) return;
    this.#tookMs = tookMs;
    this.#answeredAt = answeredAt;
    this.#aheadMs = readMs - (askedAt + answeredAt) / 2;
  }

  get aheadMs(): number {
    return this.#aheadMs;
  }
}
