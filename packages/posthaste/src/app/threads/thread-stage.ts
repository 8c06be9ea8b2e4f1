/**
 * The behaviour of an app whose file is loaded inside a thread. The file may be a program that sends tasks or runs a worker at its top
 * level; a thread needs only its tasks. So the file's program waits forever at its first use of an app, after its tasks are defined.
 * Handlers use the app as usual.
 */
import type { AnyTask } from "../../define/task.ts";
import { PosthasteError } from "../../domain/errors.ts";
import type { HandlerServices } from "../../worker/execution/attempt-services.ts";

/** An app that the file has made. */
export interface StagedApp {
  readonly tasks: readonly AnyTask[];
  /** The services of its handlers on this thread. */
  readonly services: () => Promise<HandlerServices>;
}

export interface ThreadStage {
  /** Every app that the file has made so far. */
  readonly apps: StagedApp[];
  /** Where the embedded server is, if the worker's app uses that. */
  readonly embeddedUrl: string | undefined;
  readonly isInsideTask: () => boolean;
  /** Called where the file's own program uses an app: it waits there forever. */
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
const makers = new Set<string | symbol>(["worker", "scheduler", "task", "workflow"]);
const workerStarts = new Set<string | symbol>(["worker", "runWorker", "scheduler", "runScheduler"]);

/** The same object, whose methods do nothing unless a task's handler calls them. */
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
