/** Most single sends: those of a moment travel together, and what a worker beside the sender can start is stored as running. */
import type { Outcome } from "../runtime/natural-batcher.ts";
import type { Connection } from "../store/connection.ts";
import { rowText, type OutgoingTask } from "./compose-task.ts";
import type { Database } from "./database.ts";
import { insertFresh, insertMissing } from "./insert-fresh.ts";
import type { KeptSlots, LocalHosts } from "./local-hosts.ts";
import { landed, refusingAlone, type SentId } from "./send-tasks.ts";
import type { WorkerWaker } from "./wake-workers.ts";

export interface SendsTogether {
  readonly database: Database;
  readonly waker: WorkerWaker;
  readonly hosts: LocalHosts;
}

/** One flush of concurrent sends: one message, one commit. A row that PostgreSQL refuses fails alone. */
export function sendTogether(
  { database, waker, hosts }: SendsTogether,
  tasks: readonly OutgoingTask[],
): Promise<Outcome<SentId>[]> {
  return refusingAlone(tasks, async (some, repeat) => {
    let kept: KeptSlots | undefined;
    await repeat(async (attempt) => {
      await database.ensureSchema();
      const connection = await database.sends.connection();
      if (attempt === 0) kept = hosts.keepSlots(some);
      if (attempt === 0 && kept !== undefined)
        return insertStarted({ database, waker }, connection, some, kept);
      const insert = attempt === 0 ? insertFresh : insertMissing;
      const stored = insert(database, connection, some);
      waker.announce(connection, some.map(landed));
      await stored;
      // Only now it is certain what became of the first try: the ids are stored, by it or by this one.
      kept?.letGo();
    });
    return some.map(({ id }) => ({ answer: id }));
  });
}

/** Where a worker beside the sender has slots for some of them: what it can start is stored as running. */
async function insertStarted(
  { database, waker }: Omit<SendsTogether, "hosts">,
  connection: Connection,
  tasks: readonly OutgoingTask[],
  kept: KeptSlots,
): Promise<void> {
  const rows = tasks.map((task) => (kept.tasks.has(task) ? startingRow(task) : rowText(task)));
  const { ids, at } = await database.store
    .insertStarted(connection, `[${rows.join(",")}]`, kept.claims)
    .catch((error: unknown) => {
      kept.letGo();
      throw error;
    });
  kept.start(ids, at);
  if (ids.length === tasks.length) return;
  const started = new Set(ids);
  waker.announce(connection, tasks.filter(({ id }) => !started.has(id)).map(landed));
}

function startingRow(task: OutgoingTask): string {
  return `${rowText(task).slice(0, -1)},"starts":true}`;
}
