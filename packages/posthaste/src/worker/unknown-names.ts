/**
 * Names of tasks that a worker has no handler for. With `unknownTasks: "wait"` a worker claims tasks of every name; one that it
 * cannot run returns to its place in the queue, and no retry is spent. From then on the worker's claims leave that name to
 * others, so no task is claimed and put back in a loop.
 */
import type { Config } from "../domain/config.ts";
import type { Logger } from "../domain/logger.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import { endOf, type HeldTasks } from "./held-tasks.ts";
import type { TaskRegistry } from "./task-registry.ts";

export interface UnknownNamesOptions {
  readonly registry: TaskRegistry;
  readonly config: Pick<Config, "unknownTasks">;
  readonly held: Pick<HeldTasks, "end">;
  readonly log: Logger;
}

export class UnknownNames {
  readonly #options: UnknownNamesOptions;
  #met: readonly string[] = [];

  constructor(options: UnknownNamesOptions) {
    this.#options = options;
  }

  /** Each name once, as long as this worker lives. */
  get met(): readonly string[] {
    return this.#met;
  }

  /** Puts tasks back that this worker cannot run, and returns the others. Nearly always that is what it was given. */
  putBack(claimed: ClaimedTask[]): ClaimedTask[] {
    const { registry, config, held } = this.#options;
    if (config.unknownTasks === "fail") return claimed; // it runs into its WORKER_RESOLUTION_ERROR
    if (claimed.every(({ name }) => registry.has(name))) return claimed;
    const known: ClaimedTask[] = [];
    for (const task of claimed) {
      if (registry.has(task.name)) known.push(task);
      else {
        this.#meet(task);
        held.end({ ...endOf(task), edge: "release", ran: false });
      }
    }
    return known;
  }

  #meet({ id: task, name, queue }: ClaimedTask): void {
    if (this.#met.includes(name)) return;
    this.#met = [...this.#met, name];
    this.#options.log.warn(
      { task, name, queue },
      "task of an unknown name left in the queue; no handler in this worker",
    );
  }
}
