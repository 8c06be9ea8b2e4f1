/** What operators may ask and do: the command line and the dashboard use nothing else. */
import type { TaskInfo } from "../define/task-handle.ts";
import { PosthasteError } from "../domain/errors.ts";
import { queueNameProblem } from "../domain/names.ts";
import { cancelTask } from "../engine/cancel-task.ts";
import type { Database } from "../engine/database.ts";
import type { HookRunner } from "../engine/hooks.ts";
import { readTaskInfo } from "../engine/read-task-info.ts";
import { repeatSafely } from "../engine/repeat-safely.ts";
import { requireUuid } from "../engine/uuid-v7.ts";

export interface QueueInfo {
  readonly name: string;
  /** Since when nothing of it is claimed or started; null: it runs. */
  readonly pausedAt: Date | null;
  readonly pending: number;
  readonly claimed: number;
  readonly running: number;
}

export interface Admin {
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
}

/** @param known queues that are configured */
export function makeAdmin(database: Database, known: readonly string[], hooks: HookRunner): Admin {
  const { pauseQueues } = database.store;
  const ask = <Answer>(question: () => Promise<Answer>): Promise<Answer> =>
    repeatSafely(async () => {
      await database.ensureSchema();
      return question();
    });
  return {
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
      cancel: async (id) => cancelTask(database, hooks, requireUuid(id)),
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
