/** Sleeping that can be cut short: a loop waits, anybody may ring, and a ring while nobody waits is not lost. */
export class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Resolves when it has rung, or after `ms` (never, when that is Infinity). Keeps the process alive meanwhile. */
  async wait(ms: number): Promise<void> {
    if (!this.#rung && ms > 0) {
      await new Promise<void>((resolve) => {
        // Timers beyond 24.8 days fire at once; a loop that wakes once a day looks again and sleeps on.
        const timer = Number.isFinite(ms) ? setTimeout(resolve, Math.min(ms, DAY_MS)) : undefined;
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = undefined;
    }
    this.#rung = false;
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;
