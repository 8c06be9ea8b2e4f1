/** Growing, jittered pauses between attempts: initial × 2^n, ±25 %, capped. */
export interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  #attempt = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** How many pauses have been taken since the last success. */
  get attempts(): number {
    return this.#attempt;
  }

  next(): number {
    const { initialMs, maxMs } = this.#options;
    const plain = Math.min(maxMs, initialMs * 2 ** this.#attempt++);
    return Math.min(maxMs, plain * (0.75 + 0.5 * Math.random()));
  }

  reset(): void {
    this.#attempt = 0;
  }
}
