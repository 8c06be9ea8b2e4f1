/**
 * Uncaught errors of handlers: a promise that is not awaited, a callback of a timer. They are attributed to the task that started them:
 * the task fails and the worker goes on. An error that belongs to no task ends the process after its workers have drained.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { inspect } from "node:util";
import { isMainThread } from "node:worker_threads";
import type { Logger } from "../../domain/logger.ts";
import { writeToStderr } from "../../runtime/write-to-stderr.ts";

export interface Attributed {
  /** Logs with the task's fields. */
  readonly log: Logger;
  /** Called with the thrown or rejected value, possibly after the handler has returned. */
  attribute(thrown: unknown): void;
}

const current = new AsyncLocalStorage<Attributed>();
/** The drains of all watching workers. */
const drains = new Set<() => Promise<void>>();
let isEnding = false;

/** Runs a handler so that its uncaught errors can be attributed to it. */
export function runAttributed<Asked, Answer>(
  attributed: Attributed,
  handler: (asked: Asked) => Answer,
  asked: Asked,
): Answer {
  return current.run(attributed, handler, asked);
}

/** The task whose handler is running now, if any. */
export function currentTask(): Pick<Attributed, "log"> | undefined {
  return current.getStore();
}

/**
 * Watches until the returned function is called; any number of workers in a process share one watch. `drain` is called
 * before the process ends because of an error that belongs to no task.
 */
export function watchUncaughtErrors(drain: () => Promise<void>): () => void {
  if (drains.size === 0) {
    process.on("unhandledRejection", onRejection);
    process.on("uncaughtException", onException);
  }
  drains.add(drain);
  return () => {
    drains.delete(drain);
    // A further error must not cut the drain short.
    if (drains.size > 0 || isEnding) return;
    process.off("unhandledRejection", onRejection);
    process.off("uncaughtException", onException);
  };
}

function onRejection(reason: unknown): void {
  // Node runs this listener in the context of the promise that was rejected.
  const attributed = current.getStore();
  if (attributed !== undefined) attributed.attribute(reason);
  else if (process.listenerCount("unhandledRejection") === 1) endProcess(reason);
}

function onException(error: unknown): void {
  const attributed = current.getStore();
  if (attributed !== undefined) attributed.attribute(error);
  else if (process.listenerCount("uncaughtException") === 1) endProcess(error);
}

/**
 * Our listener is the only one. Without it Node would print the error and exit with 1. The state of the process is unknown, so we do the
 * same, after its workers have let their tasks end or have released them.
 */
function endProcess(reason: unknown): void {
  if (!isMainThread) return endThread(reason);
  writeToStderr(`${inspect(reason)}\n`);
  if (isEnding) return;
  isEnding = true;
  writeToStderr(
    "posthaste: uncaught error outside any task; the workers stop, then the process exits with 1\n",
  );
  void Promise.allSettled([...drains].map((drain) => drain())).then(() => process.exit(1));
}

/** As Node does: the parent thread gets the error and sees this thread exit. */
function endThread(reason: unknown): void {
  process.off("unhandledRejection", onRejection);
  process.off("uncaughtException", onException);
  process.nextTick(() => {
    throw reason;
  });
}
