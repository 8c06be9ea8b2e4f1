/** Single sends: concurrent ones share a flush, and tasks that a worker of the same app can start are stored as RUNNING. */
import type { Database } from "../database/database.ts";
import type { Outcome } from "../runtime/coalescer.ts";
import type { Connection } from "../store/connection.ts";
import type { StartAtOnce } from "../store/queries/send/insert-started.ts";
import { type OutgoingTask, rowText } from "./compose-task.ts";
import { insertFresh, insertMissing } from "./insert-fresh.ts";
import { queueHint, bisectOnError, type SentId } from "./send-tasks.ts";
import type { WorkerWaker } from "./wake-workers.ts";

export interface SendsTogether {
  readonly database: Database;
  readonly waker: WorkerWaker;
  readonly localWorkers: LocalWorkers;
}

/** One flush of concurrent sends: one message, one commit. A row that PostgreSQL refuses fails alone. */
export function sendTogether(
  { database, waker, localWorkers }: SendsTogether,
  tasks: readonly OutgoingTask[],
): Promise<Outcome<SentId>[]> {
  return bisectOnError(tasks, async (some, repeat) => {
    let reserved: ReservedSlots | undefined;
    await repeat(async (tries) => {
      await database.ensureSchema();
      const connection = await database.sends.connection();
      if (tries === 0) reserved = localWorkers.reserveSlots(some);
      if (tries === 0 && reserved !== undefined)
        return insertStarted({ database, waker }, connection, some, reserved);
      const insert = tries === 0 ? insertFresh : insertMissing;
      await connection.together(() => {
        const stored = insert(database, connection, some);
        waker.notify(connection, some.map(queueHint));
        return stored;
      });
      // Only now it is certain what became of the first try: the ids are stored, by it or by this one.
      reserved?.giveUp();
    });
    return some.map(({ id }) => ({ answer: id }));
  });
}

/** Inserts tasks of which some have a slot in a worker of the same app: these are stored as RUNNING. */
async function insertStarted(
  { database, waker }: Omit<SendsTogether, "localWorkers">,
  connection: Connection,
  tasks: readonly OutgoingTask[],
  reserved: ReservedSlots,
): Promise<void> {
  const rows = tasks.map((task) => rowText(task, reserved.tasks.has(task)));
  const { ids, at } = await database.store
    .insertStarted(connection, `[${rows.join(",")}]`, reserved.claims)
    .catch((error: unknown) => {
      reserved.giveUp();
      throw error;
    });
  reserved.start(ids, at);
  if (ids.length === tasks.length) return;
  const started = new Set(ids);
  waker.notify(connection, tasks.filter(({ id }) => !started.has(id)).map(queueHint));
}

/** Slots that are reserved for tasks while these are being inserted. */
export interface ReservedSlots {
  readonly tasks: ReadonlySet<OutgoingTask>;
  /** The claims to store. */
  readonly claims: StartAtOnce;
  /** These were stored as RUNNING; the others wait in their queue. */
  start(started: readonly string[], at: number): void;
  /** The answer was lost: reconciliation starts the claims that it finds. Safe to repeat. */
  giveUp(): void;
}

export interface LocalWorker {
  /** Slots for the tasks among these that it can start now; undefined: none. */
  reserveSlots(tasks: readonly OutgoingTask[]): ReservedSlots | undefined;
}

/**
 * The workers of the same app. If one of them has a free slot and no due task comes first, a task is stored as RUNNING by its insert and
 * starts after that commit: no notification, no claim, one commit instead of two.
 */
export class LocalWorkers {
  readonly #workers = new Set<LocalWorker>();

  /** @returns a function that takes it away again */
  add(worker: LocalWorker): () => void {
    this.#workers.add(worker);
    return () => this.#workers.delete(worker);
  }

  /** Slots of the first worker that has any. */
  reserveSlots(tasks: readonly OutgoingTask[]): ReservedSlots | undefined {
    for (const worker of this.#workers) {
      const reserved = worker.reserveSlots(tasks);
      if (reserved !== undefined) return reserved;
    }
    return undefined;
  }
}
