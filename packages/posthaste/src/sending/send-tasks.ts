/**
 * Sends keyed tasks, many tasks, and tasks in the caller's transaction; send-together.ts sends single tasks without a key. A promise
 * resolves after the commit, or, in the caller's transaction, after the insert.
 */
import { inOwnDatabase, requireOwnDatabase } from "../database/callers-transaction.ts";
import type { Database } from "../database/database.ts";
import { once, repeatSafely, unavailable, type Repeat } from "../database/repeat-safely.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Outcome } from "../runtime/coalescer.ts";
import { errorKind } from "../store/pg-errors.ts";
import type { StoredSubmission } from "../store/queries/send/match-submissions.ts";
import type { Db, OwnDb } from "../store/sql.ts";
import { BEGIN, COMMIT, inOneTransaction } from "../store/transaction.ts";
import { rowText, type OutgoingTask } from "./compose-task.ts";
import { insertMissing, rowsText, storeFresh } from "./insert-fresh.ts";
import { notifyQueuesNow, type QueueHint, type WorkerWaker } from "./wake-workers.ts";

/** The id under which the task stands: its own, or that of the task that had its key. */
export type SentId = string;

/** Sends with a key or an own id, which may exist already: one statement inserts the missing tasks, one reads the others. */
export function sendKeyed(
  database: Database,
  waker: WorkerWaker,
  tasks: readonly OutgoingTask[],
): Promise<Outcome<SentId>[]> {
  return bisectOnError(tasks, (some, repeat) =>
    repeat(async () => {
      await database.ensureSchema();
      const connection = await database.keyedSends.connection();
      const outcomes = insertOrMatch(database, connection, inLockOrder(some));
      waker.notify(connection, some.map(queueHint));
      return outcomesOf(some, await outcomes);
    }),
  );
}

type SendSome<Item> = (some: readonly Item[], repeat: Repeat) => Promise<Outcome<SentId>[]>;

/**
 * Sends all, and bisects a refused batch until each refused item fails alone. While the server has a passing problem (full disk, no
 * memory), no item is refused for its value: senders get DATABASE_UNAVAILABLE.
 */
export async function bisectOnError<Item>(
  items: readonly Item[],
  send: SendSome<Item>,
  repeat: Repeat = repeatSafely,
): Promise<Outcome<SentId>[]> {
  try {
    return await send(items, repeat);
  } catch (error) {
    const refusal = explainRefusal(error);
    const isTrouble = refusal.code === "DATABASE_UNAVAILABLE";
    if (isTrouble && repeat !== once && errorKind(refusal.cause) === "trouble")
      return findTroubled(items, send, refusal);
    if (isTrouble || refusal === error) throw refusal;
    if (items.length === 1) return [{ error: refusal }];
    const [first, second] = halves(items);
    return [
      ...(await bisectOnError(first, send, repeat)),
      ...(await bisectOnError(second, send, repeat)),
    ];
  }
}

/**
 * A row that brings the server into trouble each time must not fail the sends that happen to travel with it: it is looked
 * for by halving. Where both halves are refused, the trouble is the server's own, and the search ends: two statements more
 * when a disk is full, and not two for every task.
 */
async function findTroubled<Item>(
  items: readonly Item[],
  send: SendSome<Item>,
  refusal: PosthasteError,
): Promise<Outcome<SentId>[]> {
  const refused = items.map(() => ({ error: refusal }));
  if (items.length === 1) return refused;
  const parts: { readonly some: readonly Item[]; readonly outcomes?: Outcome<SentId>[] }[] = [];
  for (const some of halves(items)) {
    const outcomes = await bisectOnError(some, send, once).catch(() => undefined); // refused, as all of them were
    parts.push(outcomes === undefined ? { some } : { some, outcomes });
  }
  if (parts.every(({ outcomes }) => outcomes === undefined)) return refused;
  const found: Outcome<SentId>[] = [];
  for (const { some, outcomes } of parts)
    found.push(...(outcomes ?? (await findTroubled(some, send, refusal))));
  return found;
}

function halves<Item>(items: readonly Item[]): readonly [readonly Item[], readonly Item[]] {
  const half = Math.ceil(items.length / 2);
  return [items.slice(0, half), items.slice(half)];
}

/** Joins the caller's transaction: nothing is repeated, and nothing happens unless it commits. */
export async function sendInTransaction(
  database: Database,
  db: Db,
  tasks: readonly OutgoingTask[],
): Promise<SentId[]> {
  const ordered = inLockOrder(tasks);
  let ids: SentId[];
  if (tasks.some(({ mayExist }) => mayExist)) {
    await requireOwnDatabase(database, db);
    const outcomes = await insertOrMatch(database, db, ordered);
    ids = outcomesOf(tasks, outcomes).map(answerOf);
  } else {
    for (const chunk of chunks(ordered)) await insertAtHome(database, db, rowsText(chunk));
    ids = tasks.map(({ id }) => id);
  }
  await notifyQueuesNow(db, database.store, tasks.map(queueHint));
  return ids;
}

function insertAtHome(database: Database, db: Db, rows: string): Promise<void> {
  const { insertTasks } = database.store;
  return inOwnDatabase(database, async (home) => {
    if (home !== undefined) return insertTasks.freshAt(db, rows, home);
    await insertTasks.fresh(db, rows);
    return true;
  });
}

/**
 * Many at once: all or none of them, in one transaction on a session of its own. `isRepeat`: an earlier try may have gone
 * through unnoticed.
 */
export async function sendBulk(
  database: Database,
  waker: WorkerWaker,
  tasks: readonly OutgoingTask[],
  isRepeat = false,
): Promise<SentId[]> {
  const mayExist = tasks.some((task) => task.mayExist);
  return repeatSafely(async (tries) => {
    await database.ensureSchema();
    const connection = await database.bulkSends.connection();
    const ids = mayExist
      ? await inOneTransaction(connection, async () => {
          const outcomes = await insertOrMatch(database, connection, inLockOrder(tasks));
          return outcomesOf(tasks, outcomes).map(answerOf);
        })
      : await insertChunks(database, connection, tasks, isRepeat || tries > 0);
    waker.notify(connection, tasks.map(queueHint));
    return ids;
  }).catch((error: unknown) => {
    throw explainRefusal(error);
  });
}

/** All chunks travel at once: the server works on one while the next is on its way. */
async function insertChunks(
  database: Database,
  db: OwnDb,
  tasks: readonly OutgoingTask[],
  isRepeat: boolean,
): Promise<SentId[]> {
  const insert = isRepeat ? insertMissing : storeFresh;
  const sent = [
    db.query(BEGIN),
    ...chunks(tasks).map((chunk) => insert(database, db, chunk)),
    db.query(COMMIT),
  ];
  const failed = (await Promise.allSettled(sent)).find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return tasks.map(({ id }) => id);
}

/** The outcome of each task. Two equal tasks in one batch are one task. */
export async function insertOrMatch(
  database: Database,
  db: Db,
  tasks: readonly OutgoingTask[],
): Promise<ReadonlyMap<OutgoingTask, Outcome<SentId>>> {
  const outcomes = new Map<string, Outcome<SentId>>();
  const asked = tasks.map((task) => ({ task, id: task.id, input: task.input, row: rowText(task) }));
  let waiting: readonly AskedRow[] = asked;
  // A task that stood in the way may be pruned before it is read: then there is room for the insert again.
  while (waiting.length > 0) {
    const round = firstOfEachId(waiting);
    const inserted = new Set<string>();
    for (const chunk of chunks([...round.values()])) {
      for (const id of await database.store.insertTasks.missing(db, listText(chunk)))
        inserted.add(id);
    }
    const left: AskedRow[] = [];
    for (const each of round.values()) {
      if (inserted.has(each.id)) outcomes.set(each.row, { answer: each.id });
      else left.push(each);
    }
    if (left.length > 0) {
      for (const stored of await database.store.matchSubmissions(db, listText(left))) {
        const row = round.get(stored.askedId)?.row ?? "";
        // By key first: the caller asked for the key.
        if (!outcomes.has(row) || stored.by === "key") outcomes.set(row, judge(stored));
      }
    }
    waiting = waiting.filter(({ row }) => !outcomes.has(row));
  }
  const answers = new Map<OutgoingTask, Outcome<SentId>>();
  for (const { task, row } of asked) {
    const outcome = outcomes.get(row);
    if (outcome !== undefined) answers.set(task, outcome);
  }
  return answers;
}

interface AskedRow {
  readonly id: string;
  readonly input: string;
  readonly row: string;
}

function listText(rows: readonly AskedRow[]): string {
  return `[${rows.map(({ row }) => row).join(",")}]`;
}

/** One id, one row: a second one with another content is compared with the first in the next round. */
function firstOfEachId(rows: readonly AskedRow[]): ReadonlyMap<string, AskedRow> {
  const first = new Map<string, AskedRow>();
  for (const each of rows) if (!first.has(each.id)) first.set(each.id, each);
  return first;
}

export function outcomesOf(
  tasks: readonly OutgoingTask[],
  outcomes: ReadonlyMap<OutgoingTask, Outcome<SentId>>,
): Outcome<SentId>[] {
  return tasks.map((task) => outcomes.get(task) ?? { error: new Error("no answer for this task") });
}

function judge(stored: StoredSubmission): Outcome<SentId> {
  if (stored.sameTask && stored.sameInput) return { answer: stored.id };
  const path = `options.${stored.by}`;
  const message = stored.sameTask
    ? `task ${stored.id} was sent with the same ${stored.by} and another input`
    : `id ${stored.id} belongs to another task`;
  return {
    error: PosthasteError.of("VALIDATION_FAILED", "the task was not sent", [{ path, message }]),
  };
}

function answerOf(outcome: Outcome<SentId>): SentId {
  if ("error" in outcome) throw outcome.error;
  return outcome.answer;
}

/** VALIDATION_FAILED where PostgreSQL refuses the task itself; DATABASE_UNAVAILABLE where it would refuse any other, too. */
export function explainRefusal(error: unknown): PosthasteError {
  if (error instanceof PosthasteError) return error;
  const kind = errorKind(error);
  if (kind !== "value" && kind !== "duplicate" && kind !== "unknown") return unavailable(error);
  const reason = error instanceof Error ? error.message : String(error);
  return new PosthasteError("VALIDATION_FAILED", `PostgreSQL refused the task: ${reason}`, {
    cause: error,
  });
}

/** Two senders of the same keys or ids meet in the same order, and one waits for the other. */
export function inLockOrder(tasks: readonly OutgoingTask[]): readonly OutgoingTask[] {
  if (!tasks.some(({ mayExist }) => mayExist)) return tasks;
  const place = ({ name, key, id }: OutgoingTask): string =>
    key === undefined ? `1${id}` : `0${name}\0${key}`;
  return tasks
    .map((task) => ({ task, at: place(task) }))
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
    .map(({ task }) => task);
}

export function queueHint({ queue, priority, dueMs }: OutgoingTask): QueueHint {
  return { queue, priority, due: dueMs };
}

export const CHUNK_TASKS = 2_000;
const CHUNK_CHARACTERS = 8_000_000;

/** Statements of a size that neither side has to hold a gigabyte for. Besides its input a task has some 200 characters. */
function chunks<Item extends { readonly input: string }>(items: readonly Item[]): Item[][] {
  const parts: Item[][] = [];
  let part: Item[] = [];
  let size = 0;
  for (const item of items) {
    const isFull = part.length >= CHUNK_TASKS || size + item.input.length > CHUNK_CHARACTERS;
    if (isFull && part.length > 0) {
      parts.push(part);
      part = [];
      size = 0;
    }
    part.push(item);
    size += item.input.length;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}
