/**
 * Warns when only an unused app keeps its process alive: a script that does not call `app.close()` never ends. Node tells what keeps the
 * event loop alive; a server or a timer of the program itself is no mistake.
 */
import type { Logger } from "../domain/logger.ts";

const LOOK_EVERY_MS = 5_000;
const CONNECTIONS: ReadonlySet<string> = new Set(["TCPSocketWrap", "TLSWrap"]);
/** Always there in a terminal, and keep no process alive. */
const STREAMS: ReadonlySet<string> = new Set(["TTYWrap", "PipeWrap"]);

export interface WatchedApp {
  /** Sessions that are open. */
  readonly sessionCount: () => number;
  /** Whether a worker runs or a call is under way. */
  readonly isBusy: () => boolean;
  readonly log: Logger;
}

/** Says so once. Returns what ends the watch. */
export function warnWhenForgotten({ sessionCount, isBusy, log }: WatchedApp): () => void {
  let looksInARow = 0;
  const timer = setInterval(() => {
    const sessions = sessionCount();
    const isForgotten = sessions > 0 && !isBusy() && areOnly(sessions);
    looksInARow = isForgotten ? looksInARow + 1 : 0;
    if (looksInARow < 2) return;
    clearInterval(timer);
    log.warn(
      { sessions },
      "only database connections of this app keep the process alive; call app.close() at the end of a script",
    );
  }, LOOK_EVERY_MS).unref();
  return () => clearInterval(timer);
}

/** Whether these connections alone keep the process alive. */
function areOnly(sessions: number): boolean {
  const resources = process.getActiveResourcesInfo().filter((name) => !STREAMS.has(name));
  return resources.length <= sessions && resources.every((name) => CONNECTIONS.has(name));
}
