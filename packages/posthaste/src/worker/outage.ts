/** Waiting for a database that is away: growing pauses, one line when it goes and one when it is back. */
import type { ResilienceConfig } from "../domain/config.ts";
import type { Logger } from "../domain/logger.ts";
import { isRepeatable } from "../engine/repeat-safely.ts";
import { Backoff } from "../runtime/backoff.ts";
import { pause } from "../runtime/pause.ts";

/** How often it is asked during a long pause whether the database answers again; spread, as the pauses are. */
const LOOK_OUT_MS = 2_000;

export class Outage {
  readonly #resilience: ResilienceConfig;
  readonly #backoff: Backoff;
  readonly #log: Logger;
  readonly #probe: (() => Promise<unknown>) | undefined;
  readonly #hurry = new AbortController();
  #pausing: AbortController | undefined;

  /** @param probe resolves if the database answers; without it, only others can say so */
  constructor(resilience: ResilienceConfig, log: Logger, probe?: () => Promise<unknown>) {
    const { dbRetryInitialMs, dbRetryMaxMs } = resilience;
    this.#resilience = resilience;
    this.#backoff = new Backoff({ initialMs: dbRetryInitialMs, maxMs: dbRetryMaxMs });
    this.#log = log;
    this.#probe = probe;
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
    const over = AbortSignal.any([this.#hurry.signal, this.#pausing.signal]);
    if (this.isDatabaseAway(error)) void this.#lookOut(over);
    await pause(this.#backoff.next(), over);
    this.#pausing.abort();
    this.#pausing = undefined;
  }

  /** After 20 s away the next try could be 16 s off, and work that is due should not wait for that. */
  async #lookOut(over: AbortSignal): Promise<void> {
    if (this.#probe === undefined) return;
    for (;;) {
      await pause(LOOK_OUT_MS * (0.75 + 0.5 * Math.random()), over);
      if (over.aborted) return;
      const answers = await this.#probe().then(
        () => true,
        () => false, // still away
      );
      if (answers) return this.hearOfReturn();
    }
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
