/**
 * Tasks whose name no worker knows. A name that no worker ever listed is a mistake of the sender: its tasks end with
 * WORKER_RESOLUTION_ERROR. A name that a worker listed once belongs to a deployment that is gone or was rolled back: its tasks
 * wait, and the log warns.
 *
 * Page by page in queue order. A round continues where the last one stopped: see store/queries/recover/unknown-tasks.ts.
 */
import type { Database } from "../database/database.ts";
import type { ResultCode } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import type { HookRunner } from "../hooks/hook-runner.ts";
import { errorCode } from "../store/pg-errors.ts";
import type {
  EndedUnknown,
  ReadyPlace,
  UnknownName,
} from "../store/queries/recover/unknown-tasks.ts";
import { moveNodes, sendNotifications } from "../workflows/move-nodes.ts";

export interface UnknownTaskRounds {
  readonly database: Database;
  readonly hooks: HookRunner;
  readonly log: Logger;
  /** The worker that ends them. */
  readonly workerId: string;
  readonly graceMs: number;
}

/** How many tasks of a name wait in a queue whose living workers have no handler for it. */
export interface WaitingName {
  readonly queue: string;
  readonly name: string;
  readonly count: number;
}

/** Ready rows read in one page; 10,000 took 110 ms among 1,000,000 on a busy machine. */
const PAGE = 10_000;
/** Pages of one round, as long as each page ends tasks. */
const MOST_PAGES = 10;
/** Ended in one transaction. */
const BATCH = 1_000;
/** Tasks that a line names by id. */
const MOST_NAMED = 10;
/** Names that wait are logged when they are first seen, and then so often. */
const REMIND_EVERY_MS = 3_600_000;
/** Pages that a look for all of them reads. */
const MOST_LOOKED_AT = 100;

/** For a maintenance pass, to be called in every round. Returns how many tasks it ended. */
export function unknownTaskRounds(
  rounds: UnknownTaskRounds,
): (signal?: AbortSignal) => Promise<number> {
  const { database, log, graceMs } = rounds;
  const waiting = new WaitingNames();
  const reminded = new Map<string, number>();
  let after: ReadyPlace | undefined;
  return async (signal) => {
    const isStopped = (): boolean => signal?.aborted === true;
    let count = 0;
    for (let page = 0; page < MOST_PAGES && !isStopped(); page++) {
      const search = { graceMs, limit: PAGE, after };
      const { names, next } = await database.store.unknownTasks.find(database.reads, search);
      const ended = await endUnknown(rounds, names);
      waiting.add(names.filter(({ wasKnown }) => wasKnown));
      count += ended;
      after = next;
      if (next === undefined) remind(log, waiting.take(), reminded);
      if (next === undefined || ended === 0) break;
    }
    return count;
  };
}

/**
 * All names that have waited for the grace, in the first million rows. Ends no task. Returns none if the role may not read the registry of
 * workers, as the producer role may not.
 */
export async function findWaitingNames(
  database: Database,
  graceMs: number,
): Promise<WaitingName[]> {
  try {
    return await readWaitingNames(database, graceMs);
  } catch (error) {
    if (errorCode(error) === PERMISSION_DENIED) return [];
    throw error;
  }
}

const PERMISSION_DENIED = "42501";

async function readWaitingNames(
  { store, reads }: Database,
  graceMs: number,
): Promise<WaitingName[]> {
  const waiting = new WaitingNames();
  let after: ReadyPlace | undefined;
  for (let page = 0; page < MOST_LOOKED_AT; page++) {
    const { names, next } = await store.unknownTasks.find(reads, { graceMs, limit: PAGE, after });
    waiting.add(names);
    if (next === undefined) break;
    after = next;
  }
  return waiting.take();
}

class WaitingNames {
  readonly #counts = new Map<string, WaitingName>();

  add(names: readonly UnknownName[]): void {
    for (const { queue, name, plain, nodes } of names) {
      const key = `${queue}/${name}`;
      const count = (this.#counts.get(key)?.count ?? 0) + plain.length + nodes.length;
      this.#counts.set(key, { queue, name, count });
    }
  }

  take(): WaitingName[] {
    const waiting = [...this.#counts.values()];
    this.#counts.clear();
    return waiting;
  }
}

function remind(log: Logger, waiting: readonly WaitingName[], reminded: Map<string, number>): void {
  const now = performance.now();
  for (const { queue, name, count } of waiting) {
    const key = `${queue}/${name}`;
    if (now - (reminded.get(key) ?? -Infinity) < REMIND_EVERY_MS) continue;
    reminded.set(key, now);
    log.warn(
      { name, queue, count },
      "tasks wait for a worker with a handler for their name; only workers that are gone had one",
    );
  }
}

async function endUnknown(
  rounds: UnknownTaskRounds,
  names: readonly UnknownName[],
): Promise<number> {
  const never = names.filter(({ wasKnown }) => !wasKnown);
  const { store, workflows } = rounds.database;
  let count = 0;
  for (const ids of batches(never.flatMap(({ plain }) => plain))) {
    const ended = await store.unknownTasks.end(workflows, ids, rounds.graceMs);
    await announce(rounds, ended);
    count += ended.length;
  }
  for (const ids of batches(never.flatMap(({ nodes }) => nodes))) {
    const connection = await workflows.connection();
    const { moved, notifications } = await moveNodes(store, connection, {
      taskIds: ids,
      move: (db) => store.unknownTasks.end(db, ids, rounds.graceMs),
    });
    await sendNotifications(connection, store, notifications);
    await announce(rounds, moved);
    count += moved.length;
  }
  return count;
}

function* batches(ids: readonly string[]): Generator<string[]> {
  const sorted = ids.toSorted(); // rows are locked in id order
  for (let at = 0; at < sorted.length; at += BATCH) yield sorted.slice(at, at + BATCH);
}

/** Waiters, hooks, and one line for each name. */
async function announce(
  { database, hooks, log, workerId }: UnknownTaskRounds,
  ended: readonly EndedUnknown[],
): Promise<void> {
  if (ended.length === 0) return;
  const code: ResultCode = "WORKER_RESOLUTION_ERROR";
  for (const [name, tasks] of groupByName(ended)) {
    const ids = tasks.slice(0, MOST_NAMED).map(({ id }) => id);
    log.error(
      { name, queue: tasks[0]?.queue, code, count: tasks.length, tasks: ids },
      "tasks failed; no worker has ever had a handler for their name",
    );
    const error = {
      code,
      message: `no worker has ever had a handler for a task named ${JSON.stringify(name)}`,
    };
    for (const { id, queue, attemptNo: attempt } of tasks)
      hooks.emit.taskFailed?.({ id, name, queue, attempt, workerId, durationMs: 0, error });
  }
  await database.store.awaitResults.notify(
    database.reads,
    ended.map(({ id }) => id),
  );
}

function groupByName(ended: readonly EndedUnknown[]): Map<string, EndedUnknown[]> {
  const groups = new Map<string, EndedUnknown[]>();
  for (const task of ended) groups.set(task.name, [...(groups.get(task.name) ?? []), task]);
  return groups;
}
