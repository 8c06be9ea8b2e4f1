/** What running tasks say about how far they are: gathered, and written for all of them in one statement. */
import type { Logger } from "../domain/logger.ts";
import type { Database } from "../engine/database.ts";
import { Throttle } from "../runtime/throttle.ts";
import type { ProgressReport } from "../store/queries/report-progress.ts";
import { claimKey } from "./held-tasks.ts";

const EVERY_MS = 250;

export class ProgressReports {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #throttle = new Throttle(EVERY_MS, () => void this.#flush());
  #waiting = new Map<string, ProgressReport>();
  #underWay: ReadonlyMap<string, ProgressReport> = new Map();
  #flying: Promise<void> = Promise.resolve();

  constructor(database: Database, log: Logger) {
    this.#database = database;
    this.#log = log;
  }

  report(report: ProgressReport): void {
    this.#waiting.set(claimKey(report), report);
    this.#throttle.ask();
  }

  /** Whether something of this claim is said and not yet written. */
  isWaiting(claim: Pick<ProgressReport, "id" | "claimId">): boolean {
    if (this.#waiting.size === 0 && this.#underWay.size === 0) return false; // nearly always
    const key = claimKey(claim);
    return this.#waiting.has(key) || this.#underWay.has(key);
  }

  /** Resolves when everything that was said has been written, or could not be. */
  async flush(): Promise<void> {
    await this.#flush();
  }

  stop(): void {
    this.#throttle.stop();
  }

  #flush(): Promise<void> {
    this.#flying = this.#flying.then(() => this.#write());
    return this.#flying;
  }

  async #write(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const reports = this.#waiting;
    this.#waiting = new Map();
    this.#underWay = reports;
    // Two claims of one task: the later one is the one that counts.
    const byTask = new Map([...reports.values()].map((report) => [report.id, report]));
    try {
      const { store, reads } = this.#database;
      await store.reportProgress.write(reads, [...byTask.values()]);
    } catch (error) {
      // How far a task is must never decide how it ends.
      this.#log.debug({ error: String(error) }, "the progress of tasks was not written");
    } finally {
      this.#underWay = new Map();
    }
  }
}
