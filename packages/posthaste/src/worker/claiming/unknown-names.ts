/**
 * Names of tasks that a worker has no handler for. With `unknownTasks: "wait"` a worker claims tasks of every name; one that it
 * cannot run returns to its place in the queue, and no retry is spent. From then on the worker's claims leave that name to
 * others, so no task is claimed and put back in a loop.
 */
import type { Config } from "../../config/config.ts";
import type { Logger } from "../../domain/logger.ts";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import type { TaskRegistry } from "../execution/attempt-services.ts";
import { endOf } from "../execution/ended-task.ts";
import type { InFlightTasks } from "../slots/in-flight.ts";

export interface UnknownNamesOptions {
  readonly registry: TaskRegistry;
  readonly config: Pick<Config, "unknownTasks">;
  readonly inFlight: Pick<InFlightTasks, "end">;
  readonly log: Logger;
}

export class UnknownNames {
  readonly #options: UnknownNamesOptions;
  #met: readonly string[] = [];

  constructor(options: UnknownNamesOptions) {
    this.#options = options;
  }

  /** Each name is logged once per registration. */
  get met(): readonly string[] {
    return this.#met;
  }

  /** Releases tasks that this worker cannot run, and returns the others. */
  putBack(claimed: ClaimedTask[]): ClaimedTask[] {
    const { registry, config, inFlight } = this.#options;
    if (config.unknownTasks === "fail") return claimed; // it runs into its WORKER_RESOLUTION_ERROR
    if (claimed.every(({ name }) => registry.has(name))) return claimed;
    const known: ClaimedTask[] = [];
    for (const task of claimed) {
      if (registry.has(task.name)) known.push(task);
      else {
        this.#meet(task);
        inFlight.end({ ...endOf(task), edge: "release", ran: false });
      }
    }
    return known;
  }

  #meet({ id: task, name, queue }: ClaimedTask): void {
    if (this.#met.includes(name)) return;
    this.#met = [...this.#met, name];
    this.#options.log.warn(
      { task, name, queue },
      "this worker has no handler for the task name; leaving the task in the queue",
    );
  }
}
