/**
 * Notifies the workers of a queue. The first notification goes at once; later ones within a window are gathered into one, so that many
 * sends cause few notifications.
 */
import { randomUUID } from "node:crypto";
import type { Logger } from "../domain/logger.ts";
import { encodeWakeHints, type WakeHint } from "../domain/wake-hint.ts";
import { queueChannel, resultChannel } from "../store/channels.ts";
import type { Wakes } from "../store/queries/send/notify-queues.ts";
import type { Db } from "../store/sql.ts";
import type { Store } from "../store/store.ts";

const WINDOW_MS = 1;

/** A channel for one listener. */
export function ownChannel(schema: string): string {
  return resultChannel(schema, `listener/${randomUUID()}`);
}

export type QueueHint = { readonly queue: string } & WakeHint;

export class WorkerWaker {
  readonly #store: Store;
  readonly #log: Logger;
  /** By session: a notification on another session than its insert could arrive first. */
  readonly #gathered = new Map<Db, QueueHint[]>();
  #timer: NodeJS.Timeout | undefined;
  #lastSentAt = -Infinity;

  constructor(store: Store, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /** To be called right after the statement that inserted them, on the same session: it is then sent after it. */
  notify(db: Db, hints: Iterable<QueueHint>): void {
    const known = this.#gathered.get(db);
    if (known === undefined) this.#gathered.set(db, [...hints]);
    else for (const one of hints) known.push(one);
    if (this.#timer !== undefined) return;
    const wait = this.#lastSentAt + WINDOW_MS - performance.now();
    if (wait <= 0) void this.#send();
    else this.#timer = setTimeout(() => void this.#send(), wait);
  }

  /** Sends the gathered notifications now: the sessions are about to close. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#send();
  }

  async #send(): Promise<void> {
    this.#timer = undefined;
    this.#lastSentAt = performance.now();
    const gathered = [...this.#gathered];
    this.#gathered.clear();
    await Promise.all(
      gathered.map(([db, hints]) =>
        // A lost notification costs time, never a task: workers poll. So it must not fail the send it belongs to.
        this.#store.notifyQueues.alone(db, wakesOf(this.#store, hints)).catch((error: unknown) => {
          this.#log.debug(
            { error: String(error) },
            "could not notify workers; they find the task by polling",
          );
        }),
      ),
    );
  }
}

/** The same at once; inside a caller's transaction it is delivered when that commits. */
export function notifyQueuesNow(db: Db, store: Store, hints: Iterable<QueueHint>): Promise<void> {
  return store.notifyQueues.unlessFull(db, wakesOf(store, hints));
}

function wakesOf({ schema }: Store, hints: Iterable<QueueHint>): Wakes {
  const byQueue = new Map<string, WakeHint[]>();
  for (const { queue, priority, due } of hints) {
    const known = byQueue.get(queue);
    if (known === undefined) byQueue.set(queue, [{ priority, due }]);
    else known.push({ priority, due });
  }
  const wakes = new Map<string, string>();
  for (const [queue, ofQueue] of byQueue) {
    wakes.set(queueChannel(schema, queue), encodeWakeHints(ofQueue));
  }
  return wakes;
}
