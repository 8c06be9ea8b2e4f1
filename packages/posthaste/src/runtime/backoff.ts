/** Growing, jittered pauses between tries: initial × 2^n, ±25 %, capped. */
export interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  #pausesTaken = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** How many pauses have been taken since the last success. */
  get pausesTaken(): number {
    return this.#pausesTaken;
  }

  next(): number {
    const { initialMs, maxMs } = this.#options;
    const plain = Math.min(maxMs, initialMs * 2 ** this.#pausesTaken++);
    return Math.min(maxMs, plain * (0.75 + 0.5 * Math.random()));
  }

  reset(): void {
    this.#pausesTaken = 0;
  }
}
