/** Waiting for a database that is away: growing pauses, a line when it goes, more at growing intervals, and one when it is back. */
import type { ResilienceConfig } from "../domain/config.ts";
import type { Logger } from "../domain/logger.ts";
import { isRepeatable } from "../engine/repeat-safely.ts";
import { Backoff } from "../runtime/backoff.ts";
import { pause } from "../runtime/pause.ts";

/** A server that answers and refuses is tried more often than one that is away: nothing says when it is well again. */
const REFUSED_MOST_MS = 5_000;
/** After how long a lasting outage is said again; then after twice as long, at least once an hour. */
const FIRST_REMINDER_MS = 60_000;
const LAST_REMINDER_MS = 3_600_000;
/** How often it is asked during a long pause whether the database answers again; spread, as the pauses are. */
const LOOK_OUT_MS = 2_000;

export class Outage {
  readonly #resilience: ResilienceConfig;
  readonly #backoff: Backoff;
  readonly #log: Logger;
  readonly #probe: (() => Promise<unknown>) | undefined;
  readonly #hurry = new AbortController();
  #pausing: AbortController | undefined;
  #since = 0;
  #nextLineMs = FIRST_REMINDER_MS;
  #hasRefusedEnds = false;

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
    const isAway = this.isDatabaseAway(error);
    const attempts = this.#backoff.attempts;
    const ms = this.#backoff.next();
    const retryInMs = Math.round(isAway ? ms : Math.min(ms, REFUSED_MOST_MS));
    this.#report(error, isAway, { attempts, retryInMs });
    this.#pausing = new AbortController();
    const over = AbortSignal.any([this.#hurry.signal, this.#pausing.signal]);
    if (isAway) void this.#lookOut(over);
    await pause(retryInMs, over);
    this.#pausing.abort();
    this.#pausing = undefined;
  }

  #report(
    error: unknown,
    isAway: boolean,
    { attempts, retryInMs }: { readonly attempts: number; readonly retryInMs: number },
  ): void {
    const facts = { retryInMs, error: String(error) };
    if (attempts === 0) {
      this.#since = performance.now();
      this.#nextLineMs = FIRST_REMINDER_MS;
      const what = isAway
        ? "database unreachable; running tasks go on, retrying"
        : "database refused a statement; retrying";
      return this.#log.warn(facts, what);
    }
    const outageMs = Math.round(performance.now() - this.#since);
    if (outageMs < this.#nextLineMs) return undefined;
    this.#nextLineMs = outageMs + Math.min(outageMs, LAST_REMINDER_MS);
    const what = isAway ? "database still unreachable" : "database still refuses a statement";
    return this.#log.warn({ outageMs, attempts, ...facts }, `${what}; retrying`);
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
    if (this.#backoff.attempts > 0)
      this.#log.info(
        { outageMs: Math.round(performance.now() - this.#since) },
        "database reachable again",
      );
    this.#backoff.reset();
  }

  /** Ends that wait because PostgreSQL refused them: says so once when none is left. */
  refusedEnds(count: number): void {
    if (this.#hasRefusedEnds && count === 0)
      this.#log.info("PostgreSQL takes results again; all that were kept are written");
    this.#hasRefusedEnds = count > 0;
  }

  cutShort(): void {
    this.#hurry.abort();
  }
}
