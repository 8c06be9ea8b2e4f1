/**
 * The thread that sends the heartbeats of this process's workers, seen from the main thread. It has its own event loop, so a task that
 * blocks the main one does not make its worker look dead. It starts with the first worker and is replaced if it dies.
 */
import { Worker as Thread } from "node:worker_threads";
import { threadEntry } from "../../runtime/thread-entry.ts";
import { newLoopTurns, countLoopTurns } from "./loop-turns.ts";
import type { FromLiveness, ToLiveness, WatchedWorker } from "./messages.ts";

/** How long a thread without workers is kept: the next one would wait for its start. */
const IDLE_MS = 2_000;
const RESTART_MS = 500;

/** A worker and the code that handles the messages about it. */
export interface Subscriber {
  readonly worker: WatchedWorker;
  readonly onMessage: (message: FromLiveness) => void;
  isRegistered: boolean;
}

class LivenessThread {
  readonly #loopTurns = newLoopTurns();
  readonly #subscribers = new Map<string, Subscriber>();
  #thread: Thread | undefined;
  #stopPulse: (() => void) | undefined;
  #idle: NodeJS.Timeout | undefined;

  watch(subscriber: Subscriber): void {
    clearTimeout(this.#idle);
    this.#subscribers.set(subscriber.worker.workerId, subscriber);
    this.#stopPulse ??= countLoopTurns(this.#loopTurns);
    if (this.#thread === undefined) this.#start();
    else this.#introduce(subscriber);
  }

  post(message: ToLiveness): void {
    const known =
      message.kind === "registered" ? this.#subscribers.get(message.workerId) : undefined;
    if (known !== undefined) known.isRegistered = true;
    this.#thread?.postMessage(message);
  }

  /** Called when the thread has confirmed that it dropped the worker. */
  forget(workerId: string): void {
    this.#subscribers.delete(workerId);
    if (this.#subscribers.size > 0) return;
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
      workerData: this.#loopTurns,
      name: "posthaste liveness",
    });
    this.#thread = thread;
    thread.unref(); // a worker keeps its process alive by itself
    thread.on("message", (message: FromLiveness) =>
      this.#subscribers.get(message.workerId)?.onMessage(message),
    );
    thread.on("error", (error: unknown) => {
      const trouble = { kind: "trouble", error: String(error), isAway: false } as const;
      for (const [workerId, { onMessage }] of this.#subscribers)
        onMessage({ ...trouble, workerId });
    });
    thread.on("exit", () => {
      if (this.#thread !== thread) return; // it was told to end
      this.#thread = undefined;
      setTimeout(() => {
        if (this.#subscribers.size > 0 && this.#thread === undefined) this.#start();
      }, RESTART_MS).unref();
    });
    for (const subscriber of this.#subscribers.values()) this.#introduce(subscriber);
  }

  #introduce({ worker, isRegistered }: Subscriber): void {
    this.#thread?.postMessage({ kind: "watch", worker } satisfies ToLiveness);
    if (isRegistered) this.post({ kind: "registered", workerId: worker.workerId });
  }
}

export const livenessThread = new LivenessThread();
