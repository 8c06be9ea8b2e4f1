/**
 * The thread that speaks for this process's workers, seen from the main one. It has an event loop of its own, so a task
 * that blocks the main one does not make its worker look dead. Started with the first worker; if it dies, another is
 * started, for nothing else can show that this process lives.
 */
import { Worker as Thread } from "node:worker_threads";
import { threadEntry } from "../../runtime/thread-entry.ts";
import type { FromLiveness, ToLiveness, WatchedWorker } from "./messages.ts";
import { newPulse, startPulse } from "./pulse.ts";

/** How long a thread without workers is kept: the next one would wait for its start. */
const IDLE_MS = 2_000;
const RESTART_MS = 500;

export interface Spoken {
  readonly worker: WatchedWorker;
  readonly hear: (message: FromLiveness) => void;
  isRegistered: boolean;
}

class LivenessThread {
  readonly #pulse = newPulse();
  readonly #spoken = new Map<string, Spoken>();
  #thread: Thread | undefined;
  #stopPulse: (() => void) | undefined;
  #idle: NodeJS.Timeout | undefined;

  watch(spoken: Spoken): void {
    clearTimeout(this.#idle);
    this.#spoken.set(spoken.worker.workerId, spoken);
    this.#stopPulse ??= startPulse(this.#pulse);
    if (this.#thread === undefined) this.#start();
    else this.#introduce(spoken);
  }

  say(message: ToLiveness): void {
    const spoken = message.kind === "registered" ? this.#spoken.get(message.workerId) : undefined;
    if (spoken !== undefined) spoken.isRegistered = true;
    this.#thread?.postMessage(message);
  }

  /** To be called when the thread has said that it has left the worker. */
  forget(workerId: string): void {
    this.#spoken.delete(workerId);
    if (this.#spoken.size > 0) return;
    this.#stopPulse?.();
    this.#stopPulse = undefined;
    const thread = this.#thread;
    this.#idle = setTimeout(() => {
      this.#thread = undefined;
      void thread?.terminate();
    }, IDLE_MS).unref();
  }

  #start(): void {
    const thread = new Thread(threadEntry("thread-main", import.meta.url), {
      workerData: this.#pulse,
      name: "posthaste liveness",
    });
    this.#thread = thread;
    thread.unref(); // a worker keeps its process alive by itself
    thread.on("message", (message: FromLiveness) =>
      this.#spoken.get(message.workerId)?.hear(message),
    );
    thread.on("error", (error: unknown) => {
      for (const { worker, hear } of this.#spoken.values())
        hear({ kind: "trouble", workerId: worker.workerId, error: String(error), isAway: false });
    });
    thread.on("exit", () => {
      if (this.#thread !== thread) return; // it was told to end
      this.#thread = undefined;
      setTimeout(() => {
        if (this.#spoken.size > 0 && this.#thread === undefined) this.#start();
      }, RESTART_MS).unref();
    });
    for (const spoken of this.#spoken.values()) this.#introduce(spoken);
  }

  #introduce({ worker, isRegistered }: Spoken): void {
    this.#thread?.postMessage({ kind: "watch", worker } satisfies ToLiveness);
    if (isRegistered) this.say({ kind: "registered", workerId: worker.workerId });
  }
}

export const livenessThread = new LivenessThread();
