/** Gathers the progress reports of running tasks and writes them in one statement. */
import type { Database } from "../../database/database.ts";
import type { Logger } from "../../domain/logger.ts";
import { Throttle } from "../../runtime/throttle.ts";
import { claimKey } from "../../store/queries/claim/stored-claims.ts";
import type { ProgressReport } from "../../store/queries/settle/report-progress.ts";

const EVERY_MS = 250;

export class ProgressReports {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #throttle = new Throttle(EVERY_MS, () => void this.#flush());
  #waiting = new Map<string, ProgressReport>();
  #underWay: ReadonlyMap<string, ProgressReport> = new Map();
  #inFlight: Promise<void> = Promise.resolve();

  constructor(database: Database, log: Logger) {
    this.#database = database;
    this.#log = log;
  }

  report(report: ProgressReport): void {
    this.#waiting.set(claimKey(report), report);
    this.#throttle.ask();
  }

  /** Whether a report of this claim is not yet written. */
  isWaiting(claim: Pick<ProgressReport, "id" | "claimId">): boolean {
    if (this.#waiting.size === 0 && this.#underWay.size === 0) return false; // nearly always
    const key = claimKey(claim);
    return this.#waiting.has(key) || this.#underWay.has(key);
  }

  /** Resolves when all reports were written, or failed. */
  async flush(): Promise<void> {
    await this.#flush();
  }

  stop(): void {
    this.#throttle.stop();
  }

  #flush(): Promise<void> {
    this.#inFlight = this.#inFlight.then(() => this.#write());
    return this.#inFlight;
  }

  async #write(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const reports = this.#waiting;
    this.#waiting = new Map();
    this.#underWay = reports;
    // Two claims of one task: the later claim counts.
    const byTask = new Map([...reports.values()].map((report) => [report.id, report]));
    try {
      const { store, reads } = this.#database;
      await store.reportProgress.write(reads, [...byTask.values()]);
    } catch (error) {
      // A failed progress report must not fail its task.
      this.#log.debug(
        { error: String(error) },
        "could not store the progress of tasks; the tasks continue",
      );
    } finally {
      this.#underWay = new Map();
    }
  }
}
