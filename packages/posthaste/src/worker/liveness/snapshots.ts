/** Samples of a worker for `worker_states`: load, processor, memory, lag of its event loop. */
import type { WorkerSnapshot } from "../../store/queries/worker/worker-states.ts";
import type { LoopWatch } from "./loop-watch.ts";
import type { WatchedWorker } from "./messages.ts";

const EVERY_MS = 30_000;

export class Snapshots {
  readonly #worker: WatchedWorker;
  readonly #heapBytes: () => number;
  readonly #loop: LoopWatch;
  #takenAt = -Infinity;
  #usage = process.cpuUsage();
  #measuredAt = performance.now();

  constructor(worker: WatchedWorker, heapBytes: () => number, loop: LoopWatch) {
    this.#worker = worker;
    this.#heapBytes = heapBytes;
    this.#loop = loop;
  }

  isDue(now: number): boolean {
    return now - this.#takenAt >= EVERY_MS;
  }

  take(tasksRunning: number, tasksClaimed: number): WorkerSnapshot {
    this.#takenAt = performance.now();
    return {
      workerId: this.#worker.workerId,
      tasksRunning,
      tasksClaimed,
      cpuPercent: this.#cpuPercent(),
      rssBytes: process.memoryUsage.rss(),
      heapBytes: this.#heapBytes(),
      loopLagMs: this.#loop.takeWorst(),
      config: this.#worker.config,
    };
  }

  /** The share of one core since the last sample. */
  #cpuPercent(): number {
    const now = performance.now();
    const { user, system } = process.cpuUsage(this.#usage);
    const percent = (user + system) / 10 / Math.max(1, now - this.#measuredAt);
    this.#usage = process.cpuUsage();
    this.#measuredAt = now;
    return percent;
  }
}
