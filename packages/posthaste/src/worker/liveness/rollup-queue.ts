/** Rollups that the thread has got and not yet written. While the database is away it keeps so many, the newest. */
import type { Rollup } from "../../store/queries/statistics/write-rollups.ts";

const MOST = 10_000;

export class RollupQueue {
  #waiting: Rollup[] = [];

  add(rollups: readonly Rollup[]): void {
    this.#waiting.push(...rollups);
    if (this.#waiting.length > MOST) this.#waiting = this.#waiting.slice(-MOST);
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Takes all and writes them. If that fails they wait again: an answer that was lost may count an interval twice. */
  async write(write: (rollups: readonly Rollup[]) => Promise<void>): Promise<void> {
    const taken = this.#waiting;
    if (taken.length === 0) return;
    this.#waiting = [];
    try {
      await write(taken);
    } catch (error) {
      this.#waiting = [...taken, ...this.#waiting].slice(-MOST);
      throw error;
    }
  }
}
