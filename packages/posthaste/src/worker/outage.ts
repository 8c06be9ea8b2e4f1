/** Waits for an unreachable database with growing pauses, and logs the outage: its start, at growing intervals, and its end. */
import type { ResilienceConfig } from "../config/config.ts";
import { isRepeatable } from "../database/repeat-safely.ts";
import type { Logger } from "../domain/logger.ts";
import { Backoff } from "../runtime/backoff.ts";
import { pause } from "../runtime/pause.ts";

/** A server that refuses statements is tried more often than an unreachable one, because no event tells when it works again. */
const REFUSED_MOST_MS = 5_000;
/** After this time a lasting outage is logged again, then after twice as long, at least once an hour. */
const FIRST_REMINDER_MS = 60_000;
const LAST_REMINDER_MS = 3_600_000;
/** How often a probe checks during a long pause whether the database answers; spread like the pauses. */
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
      return this.#log.warn(
        facts,
        isAway
          ? "database unreachable; retrying, running tasks continue"
          : "database refused a statement; retrying",
      );
    }
    const outageMs = Math.round(performance.now() - this.#since);
    if (outageMs < this.#nextLineMs) return undefined;
    this.#nextLineMs = outageMs + Math.min(outageMs, LAST_REMINDER_MS);
    return this.#log.warn(
      { outageMs, attempts, ...facts },
      isAway
        ? "database still unreachable; retrying"
        : "database still refuses a statement; retrying",
    );
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

  /** @param probe resolves if the database answers; without it only `onReachable` ends a pause early */
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
    if (dbRetryMaxAttempts > 0 && this.#backoff.pausesTaken >= dbRetryMaxAttempts) throw error;
    const isAway = this.isDatabaseAway(error);
    const attempts = this.#backoff.pausesTaken;
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

  /** After 20 s of outage the next try could be 16 s off; due tasks must not wait that long. */
  async #lookOut(over: AbortSignal): Promise<void> {
    if (this.#probe === undefined) return;
    for (;;) {
      await pause(LOOK_OUT_MS * (0.75 + 0.5 * Math.random()), over);
      if (over.aborted) return;
      const answers = await this.#probe().then(
        () => true,
        () => false, // still unreachable
      );
      if (answers) return this.onReachable();
    }
  }

  /** Another session has reached the database: try now instead of at the end of the pause. */
  onReachable(): void {
    this.#pausing?.abort();
  }

  over(): void {
    if (this.#backoff.pausesTaken > 0) this.#report.recovered(this);
    this.#backoff.reset();
  }

  cutShort(): void {
    this.#hurry.abort();
  }
}
