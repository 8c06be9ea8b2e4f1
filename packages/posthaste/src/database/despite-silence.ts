/**
 * Ends work although the database is silent: connections stay open and no answer comes. The driver gives up after 40 s; a process that
 * must stop cannot wait for that.
 */
import { pause } from "../runtime/pause.ts";
import type { Database } from "./database.ts";

/** Most shutdowns have ended by then, without a check. */
const BEFORE_ASKING_MS = 1_000;
/** Without an answer or refusal for this long, on a new session and on an old one, the database is silent. */
const SILENT_MS = 2_000;
const ASK_EVERY_MS = 1_000;
/** The shutdown may open further sessions, which would hang too. */
const DROP_EVERY_MS = 50;

/**
 * Resolves as `end` does. While that is under way and the database is found to be silent, `onSilent` is called once, and
 * sessions are destroyed until it is over, which rejects the calls that wait.
 */
export async function despiteSilence<Answer>(
  database: Database,
  end: () => Promise<Answer>,
  onSilent: () => void,
): Promise<Answer> {
  const over = new AbortController();
  void dropSilent(database, onSilent, over.signal);
  try {
    return await end();
  } finally {
    over.abort();
  }
}

async function dropSilent(
  database: Database,
  onSilent: () => void,
  over: AbortSignal,
): Promise<void> {
  if (!database.wasSilent) await pause(BEFORE_ASKING_MS, over);
  while (!over.aborted && !database.wasSilent && !(await database.isSilent(SILENT_MS, over)))
    await pause(ASK_EVERY_MS, over);
  if (over.aborted) return;
  onSilent();
  for (; !over.aborted; await pause(DROP_EVERY_MS, over)) database.dropSessions();
}
