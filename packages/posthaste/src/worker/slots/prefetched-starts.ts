/**
 * Starts prefetched tasks that are stored as RUNNING as soon as a slot is free (see `beginsAhead` in claim-tasks.ts). This writes nothing, so it
 * waits for nothing.
 */
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import type { InFlightTasks } from "./in-flight.ts";

export interface PrefetchedStartsOptions {
  readonly inFlight: InFlightTasks;
  readonly concurrency: number;
  /** False while the worker may start no task, or is reconciling its claims. */
  readonly mayBegin: () => boolean;
  readonly run: (task: ClaimedTask) => unknown;
}

export class PrefetchedStarts {
  readonly #options: PrefetchedStartsOptions;
  #isBusy = false;

  constructor(options: PrefetchedStartsOptions) {
    this.#options = options;
  }

  begin(): void {
    if (this.#isBusy) return; // called by a handler that ended at once: the loop below continues
    this.#isBusy = true;
    const { run } = this.#options;
    try {
      for (let task = this.#next(); task !== undefined; task = this.#next()) run(task);
    } finally {
      this.#isBusy = false;
    }
  }

  #next(): ClaimedTask | undefined {
    const { inFlight, concurrency, mayBegin } = this.#options;
    return mayBegin() && inFlight.busyCount < concurrency ? inFlight.takeStarted() : undefined;
  }
}
