/** A wait that can be ended early: a loop waits, any code may wake it, and a wake before the wait is not lost. */
export class WakeSignal {
  #isWoken = false;
  #resume: (() => void) | undefined;

  wake(): void {
    this.#isWoken = true;
    this.#resume?.();
  }

  /** Resolves after `wake`, or after `ms` (never, if that is Infinity). Keeps the process alive meanwhile. */
  async wait(ms: number): Promise<void> {
    if (!this.#isWoken && ms > 0) {
      await new Promise<void>((resolve) => {
        // Timers beyond 24.8 days fire at once; a loop that wakes once a day looks again and sleeps on.
        const timer = Number.isFinite(ms) ? setTimeout(resolve, Math.min(ms, DAY_MS)) : undefined;
        this.#resume = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#resume = undefined;
    }
    this.#isWoken = false;
  }
}

const DAY_MS = 24 * 60 * 60 * 1000;
