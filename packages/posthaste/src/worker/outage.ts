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

/**
 * The lines about an outage. The sessions of a worker share one report: the first that fails says that the database is away, the
 * last that succeeds says that it is back.
 */
export class OutageReport {
  readonly #log: Logger;
  readonly #failing = new Set<Outage>();
  #since = 0;
  #nextLineMs = FIRST_REMINDER_MS;

  constructor(log: Logger) {
    this.#log = log;
  }

  failed(
    outage: Outage,
    error: unknown,
    isAway: boolean,
    { attempts, retryInMs }: { readonly attempts: number; readonly retryInMs: number },
  ): void {
    const isFirst = this.#failing.size === 0;
    this.#failing.add(outage);
    const facts = { retryInMs, error: String(error) };
    if (isFirst) {
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

  recovered(outage: Outage): void {
    if (!this.#failing.delete(outage) || this.#failing.size > 0) return;
    this.#log.info(
      { outageMs: Math.round(performance.now() - this.#since) },
      "database reachable again",
    );
  }
}

export class Outage {
  readonly #resilience: ResilienceConfig;
  readonly #backoff: Backoff;
  readonly #report: OutageReport;
  readonly #probe: (() => Promise<unknown>) | undefined;
  readonly #hurry = new AbortController();
  #pausing: AbortController | undefined;

  /** @param probe resolves if the database answers; without it, only others can say so */
  constructor(resilience: ResilienceConfig, report: OutageReport, probe?: () => Promise<unknown>) {
    const { dbRetryInitialMs, dbRetryMaxMs } = resilience;
    this.#resilience = resilience;
    this.#backoff = new Backoff({ initialMs: dbRetryInitialMs, maxMs: dbRetryMaxMs });
    this.#report = report;
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
    this.#report.failed(this, error, isAway, { attempts, retryInMs });
    this.#pausing = new AbortController();
    const over = AbortSignal.any([this.#hurry.signal, this.#pausing.signal]);
    if (isAway) void this.#lookOut(over);
    await pause(retryInMs, over);
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
    if (this.#backoff.attempts > 0) this.#report.recovered(this);
    this.#backoff.reset();
  }

  cutShort(): void {
    this.#hurry.abort();
  }
}
