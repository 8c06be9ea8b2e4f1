/**
 * Ending something although the database says nothing: connections are open, new ones are accepted, and no answer comes. The
 * driver gives up after 40 s; a process that was told to stop must not wait for that.
 */
import { pause } from "../runtime/pause.ts";
import type { Database } from "./database.ts";

/** Nearly everything has ended by then, and nobody is asked. */
const BEFORE_ASKING_MS = 1_000;
/** No answer and no refusal for so long, on a new session and on an old one: the database is silent. */
const SILENT_MS = 2_000;
const ASK_EVERY_MS = 1_000;
/** What ends may try another session, which would be met with silence, too. */
const DROP_EVERY_MS = 50;

/**
 * Resolves as `end` does. While that is under way and the database is found to be silent, `onSilent` is called once, and
 * sessions are dropped until it is over: whatever waits for one rejects.
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
