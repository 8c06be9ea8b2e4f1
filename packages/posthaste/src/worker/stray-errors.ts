/**
 * Errors that user code lets go of: a promise nobody awaits, a callback of a timer. They belong to the task that
 * started them, so that task is blamed and the worker goes on; what belongs to no task ends the process, in good order.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { inspect } from "node:util";
import { isMainThread } from "node:worker_threads";
import type { Logger } from "../domain/logger.ts";
import { writeToStderr } from "../runtime/write-to-stderr.ts";

export interface Blamed {
  /** Its lines carry the task. */
  readonly log: Logger;
  /** Called with what was thrown or rejected, possibly after the body has returned. */
  blame(thrown: unknown): void;
}

const current = new AsyncLocalStorage<Blamed>();
/** What every watching worker does before the process ends. */
const drains = new Set<() => Promise<void>>();
let isEnding = false;

/** Runs a body so that what it lets go of can be traced to it. */
export function runBlamed<Asked, Answer>(
  blamed: Blamed,
  body: (asked: Asked) => Answer,
  asked: Asked,
): Answer {
  return current.run(blamed, body, asked);
}

/** The task on whose behalf the present code runs, if there is one. */
export function currentTask(): Pick<Blamed, "log"> | undefined {
  return current.getStore();
}

/**
 * Watches until the returned function is called; any number of workers in a process share one watch. `drain` is called
 * before the process ends because of an error that belongs to no task.
 */
export function watchStrayErrors(drain: () => Promise<void>): () => void {
  if (drains.size === 0) {
    process.on("unhandledRejection", onRejection);
    process.on("uncaughtException", onException);
  }
  drains.add(drain);
  return () => {
    drains.delete(drain);
    // While it ends, a further error must not cut the end short.
    if (drains.size > 0 || isEnding) return;
    process.off("unhandledRejection", onRejection);
    process.off("uncaughtException", onException);
  };
}

function onRejection(reason: unknown): void {
  // Node runs this listener in the context of the promise that was rejected.
  const blamed = current.getStore();
  if (blamed !== undefined) blamed.blame(reason);
  else if (process.listenerCount("unhandledRejection") === 1) endProcess(reason);
}

function onException(error: unknown): void {
  const blamed = current.getStore();
  if (blamed !== undefined) blamed.blame(error);
  else if (process.listenerCount("uncaughtException") === 1) endProcess(error);
}

/**
 * Our listener is the only one: without it, Node would print this and exit with 1. The state of the process is unknown, so
 * that is still what happens, but after its workers have let their tasks end or have given them back.
 */
function endProcess(reason: unknown): void {
  if (!isMainThread) return endThread(reason);
  writeToStderr(`${inspect(reason)}\n`);
  if (isEnding) return;
  isEnding = true;
  writeToStderr(
    "posthaste: this error belongs to no task; the workers stop, then the process exits with 1\n",
  );
  void Promise.allSettled([...drains].map((drain) => drain())).then(() => process.exit(1));
}

/** As Node would: the thread that started this one hears of the error and sees it exit. */
function endThread(reason: unknown): void {
  process.off("unhandledRejection", onRejection);
  process.off("uncaughtException", onException);
  process.nextTick(() => {
    throw reason;
  });
}
