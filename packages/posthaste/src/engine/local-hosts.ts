/**
 * Workers that live beside the sender. What is sent where one of them has a slot free, and nothing is in line before it,
 * is stored as running in the same statement and starts when that has committed: no notification, no claim, one commit
 * instead of two.
 */
import type { StartAtOnce } from "../store/queries/insert-started.ts";
import type { OutgoingTask } from "./compose-task.ts";

/** Slots that are kept for tasks while they are being stored, for a while. */
export interface KeptSlots {
  readonly tasks: ReadonlySet<OutgoingTask>;
  /** What is to be stored of the claims. */
  readonly claims: StartAtOnce;
  /** These were stored as running; the others of them stand in line. */
  start(started: readonly string[], at: number): void;
  /** Nobody knows what became of them: what is found stored under the worker's name is run. Safe to repeat. */
  letGo(): void;
}

export interface LocalHost {
  /** Slots for those of these tasks that it could start now; undefined: for none. */
  keepSlots(tasks: readonly OutgoingTask[]): KeptSlots | undefined;
}

export class LocalHosts {
  readonly #hosts = new Set<LocalHost>();

  /** @returns a function that takes it away again */
  add(host: LocalHost): () => void {
    this.#hosts.add(host);
    return () => this.#hosts.delete(host);
  }

  /** Of the first that has any. */
  keepSlots(tasks: readonly OutgoingTask[]): KeptSlots | undefined {
    for (const host of this.#hosts) {
      const kept = host.keepSlots(tasks);
      if (kept !== undefined) return kept;
    }
    return undefined;
  }
}
