/** What a running body may ask of its worker. One for all bodies of a worker. */
import type { SendOptions } from "../define/send-options.ts";
import type { AnyContract } from "../define/task.ts";
import type { WorkerContext } from "../define/task-context.ts";
import type { TaskHandle } from "../define/task-handle.ts";
import type { Config } from "../domain/config.ts";
import type { Logger } from "../domain/logger.ts";
import type { Database } from "../engine/database.ts";
import type { Claim } from "../store/queries/complete-with-effects.ts";
import type { ProgressReports } from "./progress-reports.ts";

/** Sends a task in the name of a claim, or throws TaskAborted if that is lost. */
export type SendChild = (
  parent: Claim,
  task: AnyContract,
  input: unknown,
  options: SendOptions | undefined,
) => Promise<TaskHandle>;

export interface RunServices {
  readonly workerId: string;
  readonly log: Logger;
  readonly database: Database;
  readonly payload: Config["payload"];
  /** What `posthaste({ context })` made for this worker. */
  readonly context: WorkerContext;
  readonly progress: ProgressReports;
  readonly sendChild: SendChild;
}
