/**
 * What an app finds when its file is loaded inside one of our threads. The file may be a whole program that sends tasks
 * or runs a worker at its top level; a thread wants only its tasks. So a thread's file stands still at its first use of
 * an app, and what stands above that is there to be run. Only a task's body uses an app as everywhere else.
 */
import type { AnyTask } from "../../define/task.ts";
import { PosthasteError } from "../../domain/errors.ts";
import type { BodyServices } from "../../worker/run-services.ts";

/** An app that the file has made. */
export interface StagedApp {
  readonly tasks: readonly AnyTask[];
  /** What bodies of its tasks may ask for on this thread. */
  readonly services: () => Promise<BodyServices>;
}

export interface ThreadStage {
  /** Every app that the file has made so far. */
  readonly apps: StagedApp[];
  /** Where the embedded server is, if the worker's app uses that. */
  readonly embeddedUrl: string | undefined;
  readonly isInsideTask: () => boolean;
  /** Called where the file's own program uses an app: it waits there for ever. */
  readonly hold: () => Promise<never>;
}

/** Global and registered, because the file may load another copy of this package than the thread did. */
const place = Symbol.for("posthaste.thread");

export function setThreadStage(stage: ThreadStage): void {
  Reflect.set(globalThis, place, stage);
}

export function threadStage(): ThreadStage | undefined {
  return Reflect.get(globalThis, place) as ThreadStage | undefined;
}

/** Methods that answer at once, with something that has methods of its own. */
const makers = new Set<string | symbol>(["worker", "task", "workflow"]);
const workerStarts = new Set<string | symbol>(["worker", "runWorker"]);

/** The same object, whose methods do nothing unless a task's body calls them. */
export function onStage<Target extends object>(target: Target, stage: ThreadStage): Target {
  return new Proxy(target, {
    get(_target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        const call = (): unknown => Reflect.apply(value, target, args);
        if (stage.isInsideTask()) return workerStarts.has(key) ? refuseWorker() : call();
        if (!makers.has(key)) return stage.hold();
        return onStage(call() as object, stage);
      };
    },
  });
}

function refuseWorker(): never {
  throw new PosthasteError(
    "CONFIG_INVALID",
    "a blocking task runs on a thread of its worker and cannot start another worker there",
  );
}
