/**
 * Lets the first few of a kind through and counts the rest: when thousands of tasks fail at once, the log gets some lines and a
 * count, neither silence nor a flood.
 */
const MOST_OF_A_KIND = 10;
const WINDOW_MS = 10_000;

interface Window<Sample> {
  passed: number;
  counted: number;
  last: Sample;
  readonly timer: NodeJS.Timeout;
}

export class BurstCounter<Sample> {
  readonly #windows = new Map<string, Window<Sample>>();
  readonly #onCount: (last: Sample, count: number) => void;

  /** @param onCount called at the end of a window in which some events were only counted */
  constructor(onCount: (last: Sample, count: number) => void) {
    this.#onCount = onCount;
  }

  /** True: it passes. False: it is counted. */
  passes(kind: string, sample: Sample): boolean {
    const window = this.#windows.get(kind) ?? this.#open(kind, sample);
    if (window.passed < MOST_OF_A_KIND) {
      window.passed++;
      return true;
    }
    window.counted++;
    window.last = sample;
    return false;
  }

  /** Reports the counts so far. */
  flush(): void {
    for (const kind of this.#windows.keys()) this.#close(kind);
  }

  #open(kind: string, sample: Sample): Window<Sample> {
    const timer = setTimeout(() => this.#close(kind), WINDOW_MS).unref();
    const window = { passed: 0, counted: 0, last: sample, timer };
    this.#windows.set(kind, window);
    return window;
  }

  #close(kind: string): void {
    const window = this.#windows.get(kind);
    if (window === undefined) return;
    clearTimeout(window.timer);
    this.#windows.delete(kind);
    if (window.counted > 0) this.#onCount(window.last, window.counted);
  }
}
