/**
 * Whether a worker's event loop has been blocked for too long: past the stale threshold of all its tasks, when other workers have recovered
 * them. A task with a resilient flag has a longer threshold.
 */
import type { RunningTask } from "../../store/queries/claim/stored-claims.ts";
import type { LoopWatch } from "./loop-watch.ts";
import type { WatchedWorker } from "./messages.ts";

type Limits = Pick<WatchedWorker, "runningStaleThresholdMs" | "resilientMultiplier">;

export class BlockedWorker {
  readonly #limits: Limits;
  readonly #loop: Pick<LoopWatch, "blockedMs">;
  #tasks: readonly RunningTask[] | undefined;

  constructor(limits: Limits, loop: Pick<LoopWatch, "blockedMs">) {
    this.#limits = limits;
    this.#loop = loop;
  }

  /** Its running tasks as stored; empty while unknown. */
  get tasks(): readonly RunningTask[] {
    return this.#tasks ?? [];
  }

  get limitMs(): number {
    const { runningStaleThresholdMs, resilientMultiplier } = this.#limits;
    const isResilient = this.tasks.some((task) => task.isResilient);
    return runningStaleThresholdMs * (isResilient ? resilientMultiplier : 1);
  }

  get isPastLimit(): boolean {
    return this.#loop.blockedMs > this.limitMs;
  }

  /** Half of the limit is over: read its tasks now, before other workers recover them. */
  get needsTasks(): boolean {
    const isLong = this.#loop.blockedMs > this.#limits.runningStaleThresholdMs / 2;
    if (!isLong) this.#tasks = undefined; // the loop turned: its tasks may be others now
    return isLong && this.#tasks === undefined;
  }

  runs(tasks: readonly RunningTask[]): void {
    this.#tasks = tasks;
  }
}
