/**
 * How long the main event loop has not turned, as the thread sees it. A process that was frozen and resumed has not blocked its loop: a
 * gap in which this thread did not look either counts as one look.
 */
const LOOK_EVERY_MS = 250;
const MOST_A_LOOK_COUNTS_MS = 2 * LOOK_EVERY_MS;

export class LoopWatch {
  static readonly everyMs = LOOK_EVERY_MS;
  #turns = -1;
  #lookedAt = 0;
  #blockedMs = 0;
  #worstMs = 0;

  get blockedMs(): number {
    return this.#blockedMs;
  }

  /** Returns how long it had been blocked, if it turns again. */
  look(turns: number, now: number): number | undefined {
    const gap = now - this.#lookedAt;
    this.#lookedAt = now;
    if (turns === this.#turns) {
      this.#blockedMs += Math.min(gap, MOST_A_LOOK_COUNTS_MS);
      this.#worstMs = Math.max(this.#worstMs, this.#blockedMs);
      return undefined;
    }
    this.#turns = turns;
    const was = this.#blockedMs;
    this.#blockedMs = 0;
    return was > 0 ? was : undefined;
  }

  /** The longest since it was last asked. */
  takeWorst(): number {
    const worst = this.#worstMs;
    this.#worstMs = this.#blockedMs;
    return worst;
  }
}
