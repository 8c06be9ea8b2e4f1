/** What operators may ask and do: the command line and the dashboard use nothing else. */
import type { TaskInfo } from "../define/task-handle.ts";
import type { Config } from "../domain/config.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import { OptionReader } from "../domain/option-reader.ts";
import { queueNameProblem } from "../domain/names.ts";
import { cancelTask } from "../engine/cancel-task.ts";
import { pruneAll, type Pruned } from "../engine/prune.ts";
import { readTaskInfo } from "../engine/read-task-info.ts";
import { repeatSafely } from "../engine/repeat-safely.ts";
import { requireUuid } from "../engine/uuid-v7.ts";
import {
  makeRecoveryAdmin,
  type RecoveryAdmin,
  type RecoveryAdminParts,
} from "./recovery-admin.ts";
import { makeWorkflowAdmin, type WorkflowAdmin } from "./workflow-admin.ts";

export type {
  DryRunOptions,
  RecoveredTask,
  RecoveryInfo,
  RecoveryResult,
  Sweep,
  SweepOptions,
  WorkerInfo,
} from "./recovery-admin.ts";

export type { Pruned } from "../engine/prune.ts";
export type {
  ListWorkflowsOptions,
  RecoveredWorkflows,
  RepairedWorkflow,
  WorkflowDetails,
} from "./workflow-admin.ts";

export interface QueueInfo {
  readonly name: string;
  /** Since when nothing of it is claimed or started; null: it runs. */
  readonly pausedAt: Date | null;
  readonly pending: number;
  readonly claimed: number;
  readonly running: number;
}

export interface Admin extends RecoveryAdmin, WorkflowAdmin {
  readonly queues: {
    /** Queues that are configured, hold a task, or were ever paused. */
    list(): Promise<readonly QueueInfo[]>;
    /**
     * Nothing of the queue is claimed or started from now on, by any worker; what was fetched ahead is given back, what runs
     * goes on. Stored: it holds until `resume`, whatever is restarted. False: it was paused already.
     */
    pause(name: string): Promise<boolean>;
    /** False: it was not paused. */
    resume(name: string): Promise<boolean>;
  };
  readonly tasks: {
    /** Throws TASK_NOT_FOUND if there is no such task. */
    get(id: string): Promise<TaskInfo>;
    /** As the handle's `cancel()`. */
    cancel(id: string): Promise<"cancelled" | "requested" | "finished">;
  };
  /**
   * Deletes now what is older than the config's retention, as workers do by themselves every hour: all of it, in small
   * batches. With `dryRun` it only counts.
   */
  prune(options?: { readonly dryRun?: boolean }): Promise<Pruned>;
}

export function makeAdmin(parts: RecoveryAdminParts, config: Config): Admin {
  const { database } = parts;
  const { pauseQueues } = database.store;
  const known = [...(config.queues?.keys() ?? [])];
  const ask = <Answer>(question: () => Promise<Answer>): Promise<Answer> =>
    repeatSafely(async () => {
      await database.ensureSchema();
      return question();
    });
  return {
    ...makeRecoveryAdmin(parts, ask),
    ...makeWorkflowAdmin(parts),
    queues: {
      async list() {
        const rows = await ask(() => pauseQueues.list(database.reads, known));
        return rows.map(({ queue, ...rest }) => ({ name: queue, ...rest }));
      },
      async pause(name) {
        requireQueueName(name);
        return ask(() => pauseQueues.pause(database.reads, name));
      },
      async resume(name) {
        requireQueueName(name);
        return ask(() => pauseQueues.resume(database.reads, name));
      },
    },
    tasks: {
      get: async (id) => {
        const wanted = requireUuid(id);
        return repeatSafely(() => readTaskInfo(database, wanted));
      },
      cancel: async (id) => cancelTask(database, parts.hooks, requireUuid(id)),
    },
    async prune(options) {
      const problems: Problem[] = [];
      const given = new OptionReader("", options, ["dryRun"], problems);
      const dryRun = given.flag("dryRun", false);
      if (problems.length > 0)
        throw PosthasteError.of("VALIDATION_FAILED", "nothing was pruned", problems);
      return ask(() => pruneAll(database, config.recovery, dryRun));
    },
  };
}

function requireQueueName(name: unknown): void {
  const problem = queueNameProblem(name);
  if (problem === undefined) return;
  throw PosthasteError.of("VALIDATION_FAILED", "there is no such queue", [
    { path: "name", message: problem },
  ]);
}
