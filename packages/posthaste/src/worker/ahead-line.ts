/**
 * Lets what was fetched ahead and is stored as running begin, as soon as there is a slot: see born-ahead.ts. Nothing is
 * written for it, so nothing is waited for.
 */
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { HeldTasks } from "./held-tasks.ts";

export interface AheadLineOptions {
  readonly held: HeldTasks;
  readonly concurrency: number;
  /** Not while the worker starts nothing, or does not know whether its claims are still its own. */
  readonly mayBegin: () => boolean;
  readonly run: (task: ClaimedTask) => unknown;
}

export class AheadLine {
  readonly #options: AheadLineOptions;
  #isBusy = false;

  constructor(options: AheadLineOptions) {
    this.#options = options;
  }

  begin(): void {
    if (this.#isBusy) return; // called by a body that has ended at once: the loop below goes on with the next
    this.#isBusy = true;
    const { run } = this.#options;
    try {
      for (let task = this.#next(); task !== undefined; task = this.#next()) run(task);
    } finally {
      this.#isBusy = false;
    }
  }

  #next(): ClaimedTask | undefined {
    const { held, concurrency, mayBegin } = this.#options;
    return mayBegin() && held.busyCount < concurrency ? held.takeStarted() : undefined;
  }
}
