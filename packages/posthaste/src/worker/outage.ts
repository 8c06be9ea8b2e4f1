/** Waiting for a database that is away: growing pauses, one line when it goes and one when it is back. */
import type { ResilienceConfig } from "../domain/config.ts";
import type { Logger } from "../domain/logger.ts";
import { isRepeatable } from "../engine/repeat-safely.ts";
import { Backoff } from "../runtime/backoff.ts";
import { pause } from "../runtime/pause.ts";

export class Outage {
  readonly #resilience: ResilienceConfig;
  readonly #backoff: Backoff;
  readonly #log: Logger;
  readonly #hurry = new AbortController();
  #pausing: AbortController | undefined;

  constructor(resilience: ResilienceConfig, log: Logger) {
    const { dbRetryInitialMs, dbRetryMaxMs } = resilience;
    this.#resilience = resilience;
    this.#backoff = new Backoff({ initialMs: dbRetryInitialMs, maxMs: dbRetryMaxMs });
    this.#log = log;
  }

  isDatabaseAway(error: unknown): boolean {
    return isRepeatable(error);
  }

  /** Pauses before the next try; throws the error when `dbRetryMaxAttempts` tries have failed in a row. */
  async wait(error: unknown): Promise<void> {
    const { dbRetryMaxAttempts } = this.#resilience;
    if (dbRetryMaxAttempts > 0 && this.#backoff.attempts >= dbRetryMaxAttempts) throw error;
    if (this.#backoff.attempts === 0) {
      this.#log.warn(
        { error: String(error) },
        this.isDatabaseAway(error)
          ? "the database does not answer; running tasks go on, and the worker tries again"
          : "the database refused a statement; the worker tries again",
      );
    }
    this.#pausing = new AbortController();
    await pause(this.#backoff.next(), AbortSignal.any([this.#hurry.signal, this.#pausing.signal]));
    this.#pausing = undefined;
  }

  /** Somebody has reached the database: it is tried now. Pauses may be long, and work should not wait for their end. */
  hearOfReturn(): void {
    this.#pausing?.abort();
  }

  over(): void {
    if (this.#backoff.attempts > 0) this.#log.info("the database answers again");
    this.#backoff.reset();
  }

  cutShort(): void {
    this.#hurry.abort();
  }
}
