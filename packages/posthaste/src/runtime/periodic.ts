/** Runs something again and again, one run at a time, until stopped. A run that fails is reported and does not end it. */
import { pause } from "./pause.ts";

export interface PeriodicOptions {
  readonly everyMs: number;
  readonly run: () => Promise<void>;
  readonly onError: (error: unknown) => void;
}

export class Periodic {
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(options: PeriodicOptions) {
    this.#done = this.#loop(options);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #loop({ everyMs, run, onError }: PeriodicOptions): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      // Spread, so that workers that started together do not ask together.
      await pause(everyMs * (0.9 + 0.2 * Math.random()), signal);
      if (signal.aborted) return;
      try {
        await run();
      } catch (error) {
        onError(error);
      }
    }
  }
}
