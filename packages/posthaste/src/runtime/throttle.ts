/** Runs a function at once, but at most once in a number of milliseconds. The last call always leads to a run. */
export class Throttle {
  readonly #everyMs: number;
  readonly #run: () => void;
  #timer: NodeJS.Timeout | undefined;
  #quietSince = -Infinity;

  constructor(everyMs: number, run: () => void) {
    this.#everyMs = everyMs;
    this.#run = run;
  }

  ask(): void {
    if (this.#timer !== undefined) return;
    const wait = this.#quietSince + this.#everyMs - performance.now();
    if (wait <= 0) this.#fire();
    else this.#timer = setTimeout(() => this.#fire(), wait);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #fire(): void {
    this.#timer = undefined;
    this.#quietSince = performance.now();
    this.#run();
  }
}
