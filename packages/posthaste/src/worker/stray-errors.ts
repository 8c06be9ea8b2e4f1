/**
 * Errors that user code lets go of: a promise nobody awaits, a callback of a timer. They belong to the task that
 * started them, so that task is blamed and the worker goes on; what belongs to no task keeps Node's own behaviour.
 */
import { AsyncLocalStorage } from "node:async_hooks";

export interface Blamed {
  /** Called with what was thrown or rejected, possibly after the body has returned. */
  blame(thrown: unknown): void;
}

const current = new AsyncLocalStorage<Blamed>();
let watchers = 0;

/** Runs a body so that what it lets go of can be traced to it. */
export function runBlamed<Asked, Answer>(
  blamed: Blamed,
  body: (asked: Asked) => Answer,
  asked: Asked,
): Answer {
  return current.run(blamed, body, asked);
}

/** Whether the present code runs on behalf of a body. */
export function isInsideTask(): boolean {
  return current.getStore() !== undefined;
}

/** Watches until the returned function is called; any number of workers in a process share one watch. */
export function watchStrayErrors(): () => void {
  if (watchers++ === 0) {
    process.on("unhandledRejection", onRejection);
    process.on("uncaughtException", onException);
  }
  return () => {
    if (--watchers > 0) return;
    process.off("unhandledRejection", onRejection);
    process.off("uncaughtException", onException);
  };
}

function onRejection(reason: unknown): void {
  // Node runs this listener in the context of the promise that was rejected.
  const blamed = current.getStore();
  if (blamed !== undefined) blamed.blame(reason);
  else if (process.listenerCount("unhandledRejection") === 1) crashAsNodeWould(reason);
}

function onException(error: unknown): void {
  const blamed = current.getStore();
  if (blamed !== undefined) blamed.blame(error);
  else if (process.listenerCount("uncaughtException") === 1) crashAsNodeWould(error);
}

/** Our listener is the only one: without it, Node would print this and exit. */
function crashAsNodeWould(reason: unknown): void {
  process.off("unhandledRejection", onRejection);
  process.off("uncaughtException", onException);
  process.nextTick(() => {
    throw reason;
  });
}
