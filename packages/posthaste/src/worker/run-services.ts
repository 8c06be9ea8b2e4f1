/** What running bodies may ask for. */
import type { SendOptions } from "../define/send-options.ts";
import type { AnyContract } from "../define/task.ts";
import type { WorkerContext } from "../define/task-context.ts";
import type { TaskHandle } from "../define/task-handle.ts";
import type { Config } from "../domain/config.ts";
import type { Logger } from "../domain/logger.ts";
import type { Database } from "../engine/database.ts";
import type { HookRunner } from "../engine/hooks.ts";
import type { Claim } from "../store/queries/complete-with-effects.ts";
import type { ProgressReports } from "./progress-reports.ts";
import type { TaskLog } from "./task-log.ts";
import type { ThreadPool } from "./threads/thread-pool.ts";

/** Sends a task in the name of a claim, or throws TaskAborted if that is lost. */
export type SendChild = (
  parent: Claim,
  task: AnyContract,
  input: unknown,
  options: SendOptions | undefined,
) => Promise<TaskHandle>;

/** Wherever the body runs: beside its worker, or on a thread with an app of its own. */
export interface BodyServices {
  readonly database: Database;
  readonly payload: Config["payload"];
  /** What `posthaste({ context })` made for this worker, or for this thread. */
  readonly context: WorkerContext;
  readonly sendChild: SendChild;
}

/** One for all bodies of a worker. */
export interface RunServices extends BodyServices {
  readonly workerId: string;
  readonly log: Logger;
  readonly progress: ProgressReports;
  readonly taskLog: TaskLog;
  /** A value was larger than `payload.warnBytes`. */
  readonly onLargeResult: (task: string, bytes: number) => void;
  /** Where blocking tasks run; undefined where there can be none. */
  readonly threads: ThreadPool | undefined;
  readonly hooks: HookRunner;
}
