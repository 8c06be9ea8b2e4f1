/**
 * Ends a process whose event loop is blocked for good: a handler that never returns. Nothing else would: the main thread
 * reads no signal any more, and `process.exit` in a thread ends the thread. SIGKILL needs no help from the main thread.
 * All workers of the process must agree, since it is one process.
 */
import { writeSync } from "node:fs";
import { jsonLogger } from "../../runtime/json-logger.ts";
import { pause } from "../../runtime/pause.ts";
import type { Lifeline } from "./lifeline.ts";
import type { LoopWatch } from "./loop-watch.ts";
import { lookAtMainThread } from "./main-thread.ts";

/** How long the database may take to store that the loop is blocked. */
const LAST_BEAT_MS = 2_000;
/** With a debugger attached: how often to look whether it still is. */
const DEBUGGED_MS = 5_000;
/** Tasks named in the log line. */
const MOST_NAMED = 20;

// The application's logger lives in the main thread, which does nothing any more.
const log = jsonLogger("info", (line) => {
  try {
    writeSync(2, line);
  } catch {
    // a full or closed pipe must not keep the process alive
  }
});

export class BlockedProcess {
  readonly #loop: LoopWatch;
  #isLooking = false;
  #isReported = false;

  constructor(loop: LoopWatch) {
    this.#loop = loop;
  }

  /** Called a few times a second. */
  look(lifelines: readonly Lifeline[]): void {
    if (this.#loop.blockedMs === 0) this.#isReported = false;
    if (this.#isLooking || this.#isReported || !isPastLimit(lifelines)) return;
    this.#isLooking = true;
    void this.#judge(lifelines).finally(() => (this.#isLooking = false));
  }

  async #judge(lifelines: readonly Lifeline[]): Promise<void> {
    const { isDebuggerAttached, stack } = await lookAtMainThread();
    if (isDebuggerAttached) return pause(DEBUGGED_MS);
    const stored = Promise.all(lifelines.map((lifeline) => lifeline.storeBlocked()));
    await Promise.race([stored, pause(LAST_BEAT_MS)]);
    if (!isPastLimit(lifelines)) return; // the loop turned meanwhile
    const exits = lifelines.every(({ worker }) => worker.onBlocked === "exit");
    for (const { worker, blocked } of lifelines) {
      const tasks = blocked.tasks.slice(0, MOST_NAMED).map(({ id, name }) => ({ id, name }));
      log.error(
        {
          worker: worker.workerId,
          pid: process.pid,
          blockedMs: Math.round(this.#loop.blockedMs),
          limitMs: blocked.limitMs,
          tasks,
          ...(blocked.tasks.length > MOST_NAMED && { tasksInAll: blocked.tasks.length }),
          stack,
        },
        exits
          ? "event loop blocked; ending the process with SIGKILL, its tasks follow their crash rule"
          : "event loop blocked; the process goes on because of onBlocked or autoFailStaleRunning, and runs no task until the loop turns",
      );
    }
    this.#isReported = true;
    if (exits) process.kill(process.pid, "SIGKILL");
  }
}

function isPastLimit(lifelines: readonly Lifeline[]): boolean {
  return lifelines.length > 0 && lifelines.every(({ blocked }) => blocked.isPastLimit);
}
