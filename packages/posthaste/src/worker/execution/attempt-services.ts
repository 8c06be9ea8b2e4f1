/** The services that handlers use through `ctx`. */
import type { Config } from "../../config/config.ts";
import type { Database } from "../../database/database.ts";
import type { MaybePromise } from "../../define/schema.ts";
import type { SendOptions } from "../../define/send-options.ts";
import type { WorkerContext } from "../../define/task-context.ts";
import type { TaskHandle } from "../../define/task-handle.ts";
import type { AnyTask, AnyContract } from "../../define/task.ts";
import type { Logger } from "../../domain/logger.ts";
import type { HookRunner } from "../../hooks/hook-runner.ts";
import type { Claim } from "../../store/queries/claim/stored-claims.ts";
import type { ProgressReports } from "./progress-reports.ts";
import type { Rollups } from "./rollups.ts";
import type { TaskLog } from "./task-log.ts";
import type { ThreadPool } from "./threads/thread-pool.ts";

/** Sends a task on behalf of a claim, or throws TaskAborted if the claim is lost. */
export type SendChild = (
  parent: Claim,
  task: AnyContract,
  input: unknown,
  options: SendOptions | undefined,
) => Promise<TaskHandle>;

/** For handlers on the main thread and on threads with an app of their own. */
export interface HandlerServices {
  readonly database: Database;
  readonly payload: Config["payload"];
  /** The value of `posthaste({ context })` for this worker, or for this thread. */
  readonly context: WorkerContext;
  readonly sendChild: SendChild;
}

/** One for all handlers of a worker. */
export interface AttemptServices extends HandlerServices {
  readonly workerId: string;
  readonly log: Logger;
  readonly progress: ProgressReports;
  readonly taskLog: TaskLog;
  readonly rollups: Rollups;
  /** A value was larger than `payload.warnBytes`. */
  readonly onLargeResult: (log: Logger, name: string, bytes: number) => void;
  /** Runs blocking tasks; undefined if the app has none. */
  readonly threads: ThreadPool | undefined;
  readonly hooks: HookRunner;
}

export interface ServiceParts {
  readonly database: Database;
  readonly config: Config;
  readonly sendChild: SendChild;
  /** Runs blocking tasks; undefined if the app has none. */
  readonly threads: ThreadPool | undefined;
  /** Makes `ctx.context`. */
  readonly makeContext: () => MaybePromise<WorkerContext>;
  readonly hooks: HookRunner;
}

/** Shared by all registrations of a worker. */
export type SharedServices = Omit<
  AttemptServices,
  "workerId" | "log" | "progress" | "taskLog" | "rollups"
>;

export async function makeServices({
  database,
  config,
  sendChild,
  threads,
  makeContext,
  hooks,
}: ServiceParts): Promise<SharedServices> {
  await database.locate(); // `context` may need the database
  return {
    database,
    payload: config.payload,
    context: await makeContext(),
    onLargeResult: warnOnce(config.payload.warnBytes),
    sendChild,
    threads,
    hooks,
  };
}

/** Warns once per task name. */
function warnOnce(warnBytes: number | null): AttemptServices["onLargeResult"] {
  const warned = new Set<string>();
  return (log, name, bytes) => {
    if (warned.has(name)) return;
    warned.add(name);
    log.warn({ bytes, warnBytes }, "task result is large; logged once per task name");
  };
}

/** Disposes a context that can be disposed. */
export async function disposeContext(context: unknown): Promise<void> {
  if (typeof context !== "object" || context === null) return;
  const made = context as Partial<AsyncDisposable & Disposable>;
  if (made[Symbol.asyncDispose] !== undefined) await made[Symbol.asyncDispose]?.();
  else made[Symbol.dispose]?.();
}

/** The tasks a worker can run, by name. A Map, because a task may be called "constructor". */
export type TaskRegistry = ReadonlyMap<string, AnyTask>;

export function taskRegistry(tasks: readonly AnyTask[]): TaskRegistry {
  return new Map(tasks.map((task) => [task.name, task]));
}
