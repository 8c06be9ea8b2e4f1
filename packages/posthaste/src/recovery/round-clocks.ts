import type { Database } from "../database/database.ts";
import { SteadyClocks } from "../runtime/steady-clocks.ts";

/** Whether time has passed as it should between two rounds, for this process, its machine and the server. */
export class RoundClocks {
  readonly #database: Database;
  readonly #clocks: SteadyClocks;

  constructor(database: Database, everyMs: number) {
    this.#database = database;
    this.#clocks = new SteadyClocks(everyMs);
  }

  /** So that the first round knows of a time before it. */
  async begin(): Promise<void> {
    await this.check().catch(() => this.forget()); // then the first round is the one that begins
  }

  /** Why the time since the last round cannot be trusted; undefined: it can. */
  async check(): Promise<string | undefined> {
    const { store, reads } = this.#database;
    const askedAt = performance.now();
    const serverMs = await store.readClock(reads);
    const monotonicMs = performance.now();
    const answeredInMs = monotonicMs - askedAt;
    return this.#clocks.check({ monotonicMs, wallMs: Date.now(), serverMs, answeredInMs });
  }

  /** The database was unreachable: silence meanwhile means nothing, so the next round counts as the first. */
  forget(): void {
    this.#clocks.forget();
  }
}
