/**
 * Waiting for results: one listener for all handles of a client, a notification only for tasks that somebody awaits,
 * and a poll for every notification that got lost. Register first, then read: see store/queries/await-results.ts.
 */
import { randomUUID } from "node:crypto";
import type { WaitOptions } from "../define/task-handle.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import type { Database } from "../engine/database.ts";
import { notFound } from "../engine/read-task-info.ts";
import { runNotFound } from "../engine/read-workflow.ts";
import { repeatSafely } from "../engine/repeat-safely.ts";
import type { Listener, Subscription } from "../runtime/listener.ts";
import { NaturalBatcher } from "../runtime/natural-batcher.ts";
import { pause } from "../runtime/pause.ts";
import { Periodic } from "../runtime/periodic.ts";
import { resultChannel } from "../store/channels.ts";
import type { StoredResult } from "../store/queries/await-results.ts";
import type { Db } from "../store/sql.ts";
import type { Store } from "../store/store.ts";

export interface ResultWaitsOptions {
  readonly database: Database;
  readonly awaited: AwaitedKind;
  readonly listener: Listener;
  readonly pollEveryMs: number;
  readonly log: Logger;
  /** Told of every wait; what it returns is called when the wait is over. */
  readonly onWait?: (id: string) => (() => void) | undefined;
}

/** What is waited for. */
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
/** So many polls in a row find nothing before a wait ends: a restore may show empty tables for a moment. */
const POLLS_IN_VAIN = 2;
/** A listener that does not come up must not keep anybody from reading a result that is there. */
const LISTEN_PATIENCE_MS = 1_000;

export class ResultWaits {
  readonly #options: ResultWaitsOptions;
  readonly #channel: string;
  readonly #waiting = new Map<string, Set<Waiter>>();
  /** How many polls in a row have not found the task, where the last one has not. */
  readonly #missed = new Map<string, number>();
  readonly #registrations: NaturalBatcher<string, StoredResult>;
  readonly #reads: NaturalBatcher<string, StoredResult>;
  #ear: Subscription | undefined;
  #poll: Periodic | undefined;
  #hasRegistered = false;
  #isClosed = false;

  constructor(options: ResultWaitsOptions) {
    this.#options = options;
    this.#channel = resultChannel(options.database.store.schema, randomUUID());
    this.#registrations = new NaturalBatcher((ids) => this.#registerAndRead(ids), MOST_IDS);
    this.#reads = new NaturalBatcher((ids) => this.#read(ids), MOST_IDS);
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
          if (stored.exists) this.#settle(stored);
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
    this.#ear?.unsubscribe();
    await this.#poll?.stop();
    await this.#registrations.idle(); // or what is being registered now would stay behind
    if (!this.#hasRegistered) return;
    const { store, reads } = this.#options.database;
    // Rows that stay behind are pruned by the next maintenance pass.
    await store.awaitResults.forget(reads, this.#channel).catch(() => undefined);
  }

  #settle(stored: StoredResult): void {
    if (!stored.exists) return this.#miss(stored.id);
    this.#missed.delete(stored.id);
    if (stored.status === null) return;
    // Resolving removes from the set, which a set allows while it is walked.
    for (const { resolve } of this.#waiting.get(stored.id) ?? []) resolve(stored);
  }

  /** Pruned, or lost with what a failover or a restore did not bring along: it will never end. */
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
    this.#ear ??= listener.subscribe(this.#channel, {
      onMessage: (payload) => {
        for (const id of payload.split(",")) if (this.#waiting.has(id)) this.#look(id);
      },
      // Notifications, and after a crash of the server the registrations too, are lost.
      onUp: () => this.#lookForAll(),
    });
    this.#poll ??= new Periodic({
      everyMs: pollEveryMs,
      run: async () => this.#lookForAll(),
      onError: (error) => log.debug({ error: String(error) }, "a poll for results failed"),
    });
    await Promise.race([this.#ear.ready, pause(LISTEN_PATIENCE_MS)]);
  }

  #look(id: string): void {
    this.#reads.add(id).then(
      // Told too early, by a worker whose commit failed: that took the registration with it.
      (stored) => (stored.status === null ? this.#lookAgain(id) : this.#settle(stored)),
      (error: unknown) =>
        this.#options.log.debug(
          { error: String(error) },
          "a result was not read; it is polled for",
        ),
    );
  }

  #lookForAll(): void {
    for (const id of this.#waiting.keys()) this.#lookAgain(id);
  }

  /** Registers anew and reads. */
  #lookAgain(id: string): void {
    this.#registrations.add(id).then(
      (stored) => this.#settle(stored),
      (error: unknown) =>
        this.#options.log.debug({ error: String(error) }, "a poll for results failed"),
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
      // Pipelined: two statements, two commits, one round trip; the second sees what was committed before it began.
      const [, found] = await Promise.all([
        awaitResults.register(connection, ids, this.#channel),
        awaited.read(database.store, connection, ids),
      ]);
      // Nobody is told of an end that is past: what was registered for it would stay behind.
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
          "registrations stayed behind; a maintenance pass prunes them",
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
