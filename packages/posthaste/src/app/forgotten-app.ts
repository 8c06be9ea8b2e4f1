/**
 * Warns when only an app that nobody uses any more keeps its process alive: a script that does not call `app.close()` never ends, and
 * nothing else would say why. Node tells what keeps the event loop alive; a server or a timer of the program's own is no mistake.
 */
import type { Logger } from "../domain/logger.ts";

const LOOK_EVERY_MS = 5_000;
const CONNECTIONS: ReadonlySet<string> = new Set(["TCPSocketWrap", "TLSWrap"]);
/** Always there in a terminal, and keep no process alive. */
const STREAMS: ReadonlySet<string> = new Set(["TTYWrap", "PipeWrap"]);

export interface WatchedApp {
  /** Sessions that are open. */
  readonly sessionCount: () => number;
  /** Whether a worker runs or somebody waits for something. */
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
      "only this app's connections keep the process alive; call app.close() when a script has done its work",
    );
  }, LOOK_EVERY_MS).unref();
  return () => clearInterval(timer);
}

/** Whether so many connections are all that keeps the process alive. */
function areOnly(sessions: number): boolean {
  const resources = process.getActiveResourcesInfo().filter((name) => !STREAMS.has(name));
  return resources.length <= sessions && resources.every((name) => CONNECTIONS.has(name));
}
