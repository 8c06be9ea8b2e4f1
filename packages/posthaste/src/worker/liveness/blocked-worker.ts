/**
 * When a worker's event loop has been blocked for too long. Its tasks are taken from it after their stale threshold; from
 * then on the process has nothing to do and can do nothing. A task with a resilient flag is waited for longer.
 */
import type { RunningTask } from "../../store/queries/hold-claims.ts";
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

  /** What it runs, as stored; empty while that is not known. */
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

  /** Its rows are to be read: half of the time is over. Later they may be another worker's. */
  get needsTasks(): boolean {
    const isLong = this.#loop.blockedMs > this.#limits.runningStaleThresholdMs / 2;
    if (!isLong) this.#tasks = undefined; // the loop turned: what it runs now is something else
    return isLong && this.#tasks === undefined;
  }

  runs(tasks: readonly RunningTask[]): void {
    this.#tasks = tasks;
  }
}
