/**
 * A link that swallows bytes for good and stays open: nothing says that it is dead, and the answer that is waited for will
 * never come. So while one is late, the server is asked through a new session what its end of the link does. If that waits
 * for us, or is gone, the question or the answer is lost, and so is the link.
 */
import type { Database } from "../engine/database.ts";
import { pause } from "../runtime/pause.ts";
import type { Connection } from "../store/connection.ts";

/** Later than any answer of a healthy server should come; much earlier than the 40 s after which the driver gives up. */
const PATIENCE_MS = 3_000;
const ASK_EVERY_MS = 1_500;

export async function watchLink<Answer>(
  database: Database,
  connection: Connection,
  work: () => Promise<Answer>,
): Promise<Answer> {
  // Every round trip of a worker comes through here: a controller that is aborted each time took 6 % of Node's part.
  let late: AbortController | undefined;
  const patience = setTimeout(() => {
    late = new AbortController();
    void askWhileLate(database, connection, late.signal);
  }, PATIENCE_MS);
  try {
    return await work();
  } finally {
    clearTimeout(patience);
    late?.abort();
  }
}

async function askWhileLate(
  database: Database,
  connection: Connection,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    // Each question on its own: one that is swallowed as well must not hold up the next.
    void isForsaken(database, connection).then((forsaken) => {
      if (forsaken && !over.aborted) connection.destroy();
    });
    await pause(ASK_EVERY_MS, over);
  }
}

/** Whether the server's end of the link waits for us, or is gone. False if nobody can say. */
async function isForsaken(database: Database, connection: Connection): Promise<boolean> {
  const { backendPid } = connection;
  if (backendPid === null) return false;
  try {
    return await database.withFreshSession((session) =>
      database.store.isBackendIdle(session, backendPid),
    );
  } catch {
    return false; // the database is away: then the driver will notice
  }
}
