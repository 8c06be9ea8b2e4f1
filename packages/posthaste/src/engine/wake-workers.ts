/**
 * Tells the workers of a queue that something landed. The first word goes at once; further ones within a window are
 * gathered and the last of them is always sent, so a storm of sends is a trickle of notifications.
 */
import { randomUUID } from "node:crypto";
import type { Logger } from "../domain/logger.ts";
import { encodeWakeHints, type WakeHint } from "../domain/wake-hint.ts";
import { queueChannel, resultChannel } from "../store/channels.ts";
import type { Db } from "../store/sql.ts";
import type { Wakes } from "../store/queries/notify-queues.ts";
import type { Store } from "../store/store.ts";

const WINDOW_MS = 2;

/** A channel that nobody else listens on. */
export function ownChannel(schema: string): string {
  return resultChannel(schema, `listener/${randomUUID()}`);
}

export type Landed = { readonly queue: string } & WakeHint;

export class WorkerWaker {
  readonly #store: Store;
  readonly #log: Logger;
  /** By session: a word that travels on another than its insert may arrive before it. */
  readonly #gathered = new Map<Db, Landed[]>();
  #timer: NodeJS.Timeout | undefined;
  #quietSince = -Infinity;

  constructor(store: Store, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /** To be called right after the statement that inserted them, on the same session: it is then sent after it. */
  announce(db: Db, landed: Iterable<Landed>): void {
    const known = this.#gathered.get(db);
    if (known === undefined) this.#gathered.set(db, [...landed]);
    else for (const one of landed) known.push(one);
    if (this.#timer !== undefined) return;
    const wait = this.#quietSince + WINDOW_MS - performance.now();
    if (wait <= 0) void this.#send();
    else this.#timer = setTimeout(() => void this.#send(), wait);
  }

  /** Sends what is gathered without waiting for the window: the sessions are about to be closed. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#send();
  }

  async #send(): Promise<void> {
    this.#timer = undefined;
    this.#quietSince = performance.now();
    const gathered = [...this.#gathered];
    this.#gathered.clear();
    await Promise.all(
      gathered.map(([db, landed]) =>
        // A lost notification costs time, never a task: workers poll. So it must not fail the send it belongs to.
        this.#store.notifyQueues.alone(db, wakesOf(this.#store, landed)).catch((error: unknown) => {
          this.#log.debug(
            { error: String(error) },
            "workers were not notified; they will find the task by polling",
          );
        }),
      ),
    );
  }
}

/** The same at once; inside a caller's transaction it is delivered when that commits. */
export function wakeQueues(db: Db, store: Store, landed: Iterable<Landed>): Promise<void> {
  return store.notifyQueues.unlessFull(db, wakesOf(store, landed));
}

function wakesOf({ schema }: Store, landed: Iterable<Landed>): Wakes {
  const byQueue = new Map<string, WakeHint[]>();
  for (const { queue, priority, due } of landed) {
    const hints = byQueue.get(queue);
    if (hints === undefined) byQueue.set(queue, [{ priority, due }]);
    else hints.push({ priority, due });
  }
  const wakes = new Map<string, string>();
  for (const [queue, hints] of byQueue) {
    wakes.set(queueChannel(schema, queue), encodeWakeHints(hints));
  }
  return wakes;
}
