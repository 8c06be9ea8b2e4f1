/**
 * Waits for results: one listener for all handles of an app, notifications only for awaited tasks, and a poll that covers lost
 * notifications. Register first, then read: see store/queries/read/await-results.ts.
 */
import { randomUUID } from "node:crypto";
import type { Database } from "../database/database.ts";
import { repeatSafely } from "../database/repeat-safely.ts";
import type { WaitOptions } from "../define/task-handle.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import { shown } from "../domain/option-reader.ts";
import { TaskStatus } from "../domain/task-lifecycle.ts";
import { Coalescer } from "../runtime/coalescer.ts";
import type { Listener, Subscription } from "../runtime/listener.ts";
import { pause } from "../runtime/pause.ts";
import { Periodic } from "../runtime/periodic.ts";
import { resultChannel } from "../store/channels.ts";
import type { StoredResult } from "../store/queries/read/await-results.ts";
import type { Db } from "../store/sql.ts";
import type { Store } from "../store/store.ts";
import { runNotFound } from "../workflows/read-workflow.ts";
import { notFound } from "./read-task-info.ts";

export interface ResultWaitsOptions {
  readonly database: Database;
  readonly awaited: AwaitedKind;
  readonly listener: Listener;
  readonly pollEveryMs: number;
  readonly log: Logger;
  /** Called for every wait. It returns a function that is called when the wait is over. */
  readonly onWait?: (id: string) => (() => void) | undefined;
}

/** The kind of thing to wait for. */
export interface AwaitedKind {
  /** In a sentence, before its id. */
  readonly noun: string;
  readonly notFound: (id: string) => PosthasteError;
  readonly read: (store: Store, db: Db, ids: readonly string[]) => Promise<StoredResult[]>;
}

export const awaitedTasks: AwaitedKind = {
  noun: "task",
  notFound,
  read: ({ awaitResults }, db, ids) => awaitResults.read(db, ids),
};

export const awaitedRuns: AwaitedKind = {
  noun: "run",
  notFound: runNotFound,
  read: ({ awaitResults }, db, ids) => awaitResults.readRuns(db, ids),
};

const MOST_IDS = 1_000;
/** "<id> <status> <json>". */
const ENDED = /^([0-9a-f-]{36}) ([A-Z]+) (.*)$/s;
/** So many polls in a row find nothing before a wait ends: a restore may show empty tables for a moment. */
const POLLS_IN_VAIN = 2;
/** The longest wait for the listener: a stored result must be readable without it. */
const LISTEN_PATIENCE_MS = 1_000;

export class ResultWaits {
  readonly #options: ResultWaitsOptions;
  readonly #channel: string;
  readonly #waiting = new Map<string, Set<Waiter>>();
  /** How many polls in a row have not found the task, where the last one has not. */
  readonly #missed = new Map<string, number>();
  readonly #registrations: Coalescer<string, StoredResult>;
  readonly #reads: Coalescer<string, StoredResult>;
  #subscription: Subscription | undefined;
  #poll: Periodic | undefined;
  #hasRegistered = false;
  #isClosed = false;

  constructor(options: ResultWaitsOptions) {
    this.#options = options;
    this.#channel = resultChannel(options.database.store.schema, randomUUID());
    this.#registrations = new Coalescer((ids) => this.#registerAndRead(ids), MOST_IDS);
    this.#reads = new Coalescer((ids) => this.#read(ids), MOST_IDS);
  }

  /** The stored result, once there is one. */
  wait(id: string, { timeoutMs, signal }: WaitOptions = {}): Promise<StoredResult> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#isClosed) throw closed();
      const leftBehind = this.#options.onWait?.(id);
      const leave = (): void => {
        leftBehind?.();
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        this.#forget(id, waiter);
      };
      const waiter: Waiter = {
        resolve: (stored) => {
          leave();
          resolve(stored);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      const onAbort = (): void => waiter.reject(signal?.reason);
      const timer =
        timeoutMs === undefined
          ? undefined
          : setTimeout(() => waiter.reject(this.#timeout(id, timeoutMs)), timeoutMs);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#remember(id, waiter);
      this.#listen()
        .then(() => this.#registrations.add(id))
        .then((stored) => {
          if (stored.exists) this.#answer(stored);
          else waiter.reject(this.#options.awaited.notFound(id)); // never sent, or in a transaction that is open
        }, waiter.reject);
    });
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    // Leaving removes from the maps, which they allow while they are walked.
    for (const waiters of this.#waiting.values())
      for (const { reject } of waiters) reject(closed());
    this.#subscription?.unsubscribe();
    await this.#poll?.stop();
    await this.#registrations.idle(); // or a registration under way would stay behind
    if (!this.#hasRegistered) return;
    const { store, reads } = this.#options.database;
    // Rows that stay behind are pruned by the next maintenance pass.
    await store.awaitResults.forget(reads, this.#channel).catch(() => undefined);
  }

  #answer(stored: StoredResult): void {
    if (!stored.exists) return this.#miss(stored.id);
    this.#missed.delete(stored.id);
    if (stored.status === null) return;
    // Resolving removes from the set, which a set allows while it is walked.
    for (const { resolve } of this.#waiting.get(stored.id) ?? []) resolve(stored);
  }

  /** The task or run was pruned, or lost by a failover or restore: it will never end. */
  #miss(id: string): void {
    const waiters = this.#waiting.get(id);
    if (waiters === undefined) return;
    const missed = (this.#missed.get(id) ?? 0) + 1;
    this.#missed.set(id, missed);
    if (missed < POLLS_IN_VAIN) return;
    for (const { reject } of waiters) reject(this.#options.awaited.notFound(id));
  }

  async #listen(): Promise<void> {
    const { listener, pollEveryMs, log } = this.#options;
    this.#subscription ??= listener.subscribe(this.#channel, {
      onMessage: (payload) => this.#onMessage(payload),
      // Notifications, and after a crash of the server the registrations too, are lost.
      onUp: () => this.#lookForAll(),
    });
    this.#poll ??= new Periodic({
      everyMs: pollEveryMs,
      run: async () => this.#lookForAll(),
      onError: (error) =>
        log.debug({ error: String(error) }, "poll for results failed; the next poll retries"),
    });
    await Promise.race([this.#subscription.ready, pause(LISTEN_PATIENCE_MS)]);
  }

  /** A notification is an id, with its outcome if that is small: see notify_waiters(). */
  #onMessage(payload: string): void {
    const [, id, status, outcome] = ENDED.exec(payload) ?? [];
    if (id === undefined || status === undefined) {
      if (this.#waiting.has(payload)) this.#look(payload);
      return;
    }
    const json = outcome === undefined || outcome === "" ? null : outcome;
    const isCompleted = status === TaskStatus.COMPLETED;
    const result = isCompleted ? json : null;
    this.#answer({ id, exists: true, status, result, error: isCompleted ? null : json });
  }

  #look(id: string): void {
    this.#reads.add(id).then(
      // The worker's write failed, but its notification was sent and deleted the registration.
      (stored) => (stored.status === null ? this.#lookAgain(id) : this.#answer(stored)),
      (error: unknown) =>
        this.#options.log.debug(
          { id, error: String(error) },
          "could not read a result; the next poll reads it",
        ),
    );
  }

  #lookForAll(): void {
    for (const id of this.#waiting.keys()) this.#lookAgain(id);
  }

  /** Registers again and reads. */
  #lookAgain(id: string): void {
    this.#registrations.add(id).then(
      (stored) => this.#answer(stored),
      (error: unknown) =>
        this.#options.log.debug(
          { id, error: String(error) },
          "poll for results failed; the next poll retries",
        ),
    );
  }

  async #registerAndRead(ids: readonly string[]): Promise<{ answer: StoredResult }[]> {
    return repeatSafely(async () => {
      if (this.#isClosed) throw closed();
      const { database, awaited } = this.#options;
      await database.ensureSchema();
      const connection = await database.reads.connection();
      const { awaitResults } = database.store;
      this.#hasRegistered = true;
      // Pipelined: two statements, two commits, one round trip; the second sees all earlier commits.
      const [, found] = await connection.together(() =>
        Promise.all([
          awaitResults.register(connection, ids, this.#channel),
          awaited.read(database.store, connection, ids),
        ]),
      );
      // No notification follows an earlier end, so its registration would stay behind.
      const past = found.filter(({ exists, status }) => !exists || status !== null);
      if (past.length > 0) this.#unregister(past.map(({ id }) => id));
      return inOrder(ids, found);
    });
  }

  #unregister(ids: readonly string[]): void {
    const { database, log } = this.#options;
    database.store.awaitResults
      .unregister(database.reads, ids, this.#channel)
      .catch((error: unknown) => {
        log.debug(
          { error: String(error) },
          "could not remove registrations of waiting callers; maintenance removes them",
        );
      });
  }

  async #read(ids: readonly string[]): Promise<{ answer: StoredResult }[]> {
    const { awaited, database } = this.#options;
    return inOrder(ids, await awaited.read(database.store, database.reads, ids));
  }

  #timeout(id: string, timeoutMs: number): PosthasteError {
    const what = `${this.#options.awaited.noun} ${id}`;
    return new PosthasteError(
      "WAIT_TIMEOUT",
      `${what} has not ended within ${timeoutMs} ms; it may still do so`,
    );
  }

  #remember(id: string, waiter: Waiter): void {
    const others = this.#waiting.get(id);
    if (others === undefined) this.#waiting.set(id, new Set([waiter]));
    else others.add(waiter);
  }

  #forget(id: string, waiter: Waiter): void {
    const others = this.#waiting.get(id);
    others?.delete(waiter);
    if (others?.size !== 0) return;
    this.#waiting.delete(id);
    this.#missed.delete(id);
  }
}

interface Waiter {
  readonly resolve: (stored: StoredResult) => void;
  readonly reject: (error: unknown) => void;
}

function inOrder(
  ids: readonly string[],
  rows: readonly StoredResult[],
): { answer: StoredResult }[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => ({
    answer: byId.get(id) ?? { id, exists: false, status: null, result: null, error: null },
  }));
}

function closed(): PosthasteError {
  return new PosthasteError("CLOSED", "this app has been closed");
}

/** The longest timer there is. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

export function checkWait(options: WaitOptions | undefined): void {
  const timeoutMs: unknown = options?.timeoutMs;
  if (
    timeoutMs === undefined ||
    (typeof timeoutMs === "number" && timeoutMs >= 0 && timeoutMs <= LONGEST_WAIT_MS)
  ) {
    return;
  }
  throw PosthasteError.of("VALIDATION_FAILED", "cannot wait", [
    {
      path: "timeoutMs",
      message: `expected milliseconds from 0 to ${LONGEST_WAIT_MS}, found ${shown(timeoutMs)}`,
    },
  ]);
}
