/** Warns when tasks are sent to a queue that no living worker serves, where they would wait unnoticed. */
import type { Logger } from "../domain/logger.ts";

/** A task that was sent. */
export interface SentTask {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
}

export interface UnservedQueuesOptions {
  /** The queues among these that no living worker serves. */
  readonly findUnserved: (queues: readonly string[]) => Promise<readonly string[]>;
  readonly log: Logger;
}

/** A worker that is started together with its sender has registered by then. A program that ends earlier asks nothing. */
const LOOK_AFTER_MS = 5_000;
/** Then a send to a queue that was served is looked up again: its workers may be gone. */
const LOOK_AGAIN_AFTER_MS = 600_000;

/** Looks up a queue some seconds after its first send, in the background: a send costs the look into a set, no statement. */
export class UnservedQueues {
  readonly #options: UnservedQueuesOptions;
  /** Queues that a send need not mention. */
  readonly #seen = new Set<string>();
  /** Said once for each queue. */
  readonly #warned = new Set<string>();
  /** The first task that was sent to each queue that is still to be looked up. */
  readonly #firstSent = new Map<string, SentTask>();
  #lookTimer: NodeJS.Timeout | undefined;
  #forgetTimer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: UnservedQueuesOptions) {
    this.#options = options;
  }

  sent(task: SentTask): void {
    if (!this.#seen.has(task.queue)) this.#note(task);
  }

  async close(): Promise<void> {
    clearTimeout(this.#lookTimer);
    clearTimeout(this.#forgetTimer);
    await this.#looking;
  }

  #note({ id, name, queue }: SentTask): void {
    this.#seen.add(queue);
    this.#firstSent.set(queue, { id, name, queue });
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined;
      this.#looking = this.#look();
    }, LOOK_AFTER_MS).unref();
    this.#forgetTimer ??= setTimeout(() => {
      this.#forgetTimer = undefined;
      this.#seen.clear();
      for (const warned of this.#warned) this.#seen.add(warned);
    }, LOOK_AGAIN_AFTER_MS).unref();
  }

  async #look(): Promise<void> {
    const { findUnserved, log } = this.#options;
    const asked = new Map(this.#firstSent);
    this.#firstSent.clear();
    try {
      for (const queue of await findUnserved([...asked.keys()])) {
        const first = asked.get(queue);
        if (first === undefined || this.#warned.has(queue)) continue;
        this.#warned.add(queue);
        log.warn(
          { queue, name: first.name, task: first.id },
          "no live worker serves the queue of this task; the task waits until one starts",
        );
      }
    } catch (error) {
      // The database is away, or the role may not see workers. The task is stored all the same.
      log.debug(
        { error: String(error) },
        "could not check which queues have workers; a later send checks again",
      );
    }
  }
}
