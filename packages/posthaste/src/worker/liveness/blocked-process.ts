/**
 * Ends a process whose event loop is blocked by a handler that never returns. The main thread handles no signal any more, and
 * `process.exit` in a thread ends only the thread, so this sends SIGKILL. All workers of the process must be past their limit.
 */
import { writeSync } from "node:fs";
import { jsonLogger } from "../../runtime/json-logger.ts";
import { pause } from "../../runtime/pause.ts";
import type { LivenessSession } from "./liveness-session.ts";
import type { LoopWatch } from "./loop-watch.ts";
import { lookAtMainThread } from "./main-thread.ts";

/** How long the database may take to store that the loop is blocked. */
const LAST_BEAT_MS = 2_000;
/** With a debugger attached: how often to look whether it still is. */
const DEBUGGED_MS = 5_000;
/** Tasks named in the log line. */
const MOST_NAMED = 20;

// The application's logger is in the main thread, which is blocked.
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
  look(sessions: readonly LivenessSession[]): void {
    if (this.#loop.blockedMs === 0) this.#isReported = false;
    if (this.#isLooking || this.#isReported || !isPastLimit(sessions)) return;
    this.#isLooking = true;
    void this.#judge(sessions).finally(() => (this.#isLooking = false));
  }

  async #judge(sessions: readonly LivenessSession[]): Promise<void> {
    const { isDebuggerAttached, stack } = await lookAtMainThread();
    if (isDebuggerAttached) return pause(DEBUGGED_MS);
    const stored = Promise.all(sessions.map((livenessSession) => livenessSession.storeBlocked()));
    await Promise.race([stored, pause(LAST_BEAT_MS)]);
    if (!isPastLimit(sessions)) return; // the loop turned meanwhile
    const exits = sessions.every(({ worker }) => worker.onBlocked === "exit");
    for (const { worker, blocked } of sessions) {
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
          ? "event loop blocked; ending the process with SIGKILL, its tasks follow their onCrash rule"
          : "event loop blocked; no task runs until it is free. The process continues because of onBlocked or autoFailStaleRunning",
      );
    }
    this.#isReported = true;
    if (exits) process.kill(process.pid, "SIGKILL");
  }
}

function isPastLimit(sessions: readonly LivenessSession[]): boolean {
  return sessions.length > 0 && sessions.every(({ blocked }) => blocked.isPastLimit);
}
