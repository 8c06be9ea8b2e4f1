/** Puts together what the bodies of a worker may ask for, and puts it away. */
import type { MaybePromise } from "../define/schema.ts";
import type { WorkerContext } from "../define/task-context.ts";
import type { Config } from "../domain/config.ts";
import type { Logger } from "../domain/logger.ts";
import type { Database } from "../engine/database.ts";
import type { HookRunner } from "../engine/hooks.ts";
import type { RunServices, SendChild } from "./run-services.ts";
import type { ThreadPool } from "./threads/thread-pool.ts";

export interface ServiceParts {
  readonly database: Database;
  readonly config: Config;
  readonly sendChild: SendChild;
  /** Where blocking tasks run; undefined where there can be none. */
  readonly threads: ThreadPool | undefined;
  /** Makes what bodies find as `ctx.context`. */
  readonly makeContext: () => MaybePromise<WorkerContext>;
  readonly hooks: HookRunner;
}

/** What all lives of a worker share. */
export type SharedServices = Omit<RunServices, "workerId" | "log" | "progress" | "taskLog">;

export async function makeServices(
  { database, config, sendChild, threads, makeContext, hooks }: ServiceParts,
  log: Logger,
): Promise<SharedServices> {
  await database.locate(); // a context may want to know where it is
  return {
    database,
    payload: config.payload,
    context: await makeContext(),
    onLargeResult: warnOnce(log, config.payload.warnBytes),
    sendChild,
    threads,
    hooks,
  };
}

/** Once per task, and not with every run of it. */
function warnOnce(log: Logger, warnBytes: number | null): RunServices["onLargeResult"] {
  const warned = new Set<string>();
  return (task, bytes) => {
    if (warned.has(task)) return;
    warned.add(task);
    log.warn({ name: task, bytes, warnBytes }, "a large result was stored; said once per task");
  };
}

/** A context that knows how to be put away is put away with its worker. */
export async function disposeContext(context: unknown): Promise<void> {
  if (typeof context !== "object" || context === null) return;
  const made = context as Partial<AsyncDisposable & Disposable>;
  if (made[Symbol.asyncDispose] !== undefined) await made[Symbol.asyncDispose]?.();
  else made[Symbol.dispose]?.();
}
