/**
 * Detects a connection that loses bytes and stays open: no error says that it is dead, and its answer never comes. While an answer
 * is late, the watchdog asks the server over a new session what the backend does. If the backend is idle or gone, the request or
 * its answer is lost, and the watchdog destroys the connection.
 */
import type { Database } from "../database/database.ts";
import { pause } from "../runtime/pause.ts";
import type { Connection } from "../store/connection.ts";

/** Longer than any answer of a healthy server takes, and much shorter than the 40 s after which the driver gives up. */
const PATIENCE_MS = 3_000;
const ASK_EVERY_MS = 1_500;

export async function watchConnection<Answer>(
  database: Database,
  connection: Connection,
  work: () => Promise<Answer>,
): Promise<Answer> {
  // Every round trip of a worker passes here: a controller that is aborted each time took 6 % of Node's time.
  let late: AbortController | undefined;
  const patience = setTimeout(() => {
    late = new AbortController();
    void checkWhileLate(database, connection, late.signal);
  }, PATIENCE_MS);
  try {
    return await work();
  } finally {
    clearTimeout(patience);
    late?.abort();
  }
}

async function checkWhileLate(
  database: Database,
  connection: Connection,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    // Not awaited: a check that gets no answer must not delay the next one.
    void isBackendGone(database, connection).then((isGone) => {
      if (isGone && !over.aborted) connection.destroy();
    });
    await pause(ASK_EVERY_MS, over);
  }
}

/** Whether the backend waits for a command, or is gone. False if the server cannot be asked. */
async function isBackendGone(database: Database, connection: Connection): Promise<boolean> {
  const { backendPid } = connection;
  if (backendPid === null) return false;
  try {
    return await database.withFreshSession((session) =>
      database.store.isBackendIdle(session, backendPid),
    );
  } catch {
    return false; // the database is unreachable: the driver notices that
  }
}
