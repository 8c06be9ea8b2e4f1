/** What operators may ask and do: the command line and the dashboard use nothing else. */
import type { TaskInfo } from "../define/task-handle.ts";
import { DEFAULT_QUEUE, type Config } from "../domain/config.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import { OptionReader } from "../domain/option-reader.ts";
import { queueNameProblem } from "../domain/names.ts";
import { nearestName } from "../domain/nearest-name.ts";
import { cancelTask } from "../engine/cancel-task.ts";
import { pruneAll, type Pruned } from "../engine/prune.ts";
import { readTaskInfo } from "../engine/read-task-info.ts";
import { explainRefusal, repeatSafely } from "../engine/repeat-safely.ts";
import { requireUuid } from "../engine/uuid-v7.ts";
import {
  makeRecoveryAdmin,
  type RecoveryAdmin,
  type RecoveryAdminParts,
} from "./recovery-admin.ts";
import { makeWorkflowAdmin, type WorkflowAdmin } from "./workflow-admin.ts";

export type {
  NotJudged,
  RecoveredTask,
  RecoverStaleOptions,
  RecoveryInfo,
  RecoveryResult,
  SweepOptions,
  SweepResult,
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

export interface PauseOptions {
  /**
   * Takes the name although no such queue is known: it is not among the configured `queues`, or, without these, no definition
   * names it, no task waits or runs in it, no registered worker serves it, and it was never paused. Default false.
   */
  readonly force?: boolean;
}

/** What the admin calls need. */
export interface AdminParts extends RecoveryAdminParts {
  /** The queues that the app's definitions name. */
  readonly definedQueues: readonly string[];
}

export interface Admin extends RecoveryAdmin, WorkflowAdmin {
  readonly queues: {
    /** Queues that are configured, hold a task, or were ever paused. */
    list(): Promise<readonly QueueInfo[]>;
    /**
     * Nothing of the queue is claimed or started from now on, by any worker; what was fetched ahead is given back, what runs
     * goes on. Stored: it holds until `resume`, whatever is restarted. False: it was paused already.
     */
    pause(name: string, options?: PauseOptions): Promise<boolean>;
    /** False: it was not paused. */
    resume(name: string, options?: PauseOptions): Promise<boolean>;
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

export function makeAdmin(parts: AdminParts, config: Config): Admin {
  const { database } = parts;
  const { pauseQueues, queuesInUse } = database.store;
  const known = [...(config.queues?.keys() ?? [])];
  const ask = <Answer>(question: () => Promise<Answer>): Promise<Answer> =>
    repeatSafely(async () => {
      await database.ensureSchema();
      return question();
    });
  const requireKnown = async (
    what: string,
    name: string,
    options: PauseOptions | undefined,
  ): Promise<void> => {
    requireQueueName(name);
    const given = new OptionReader("options", options, ["force"]);
    const isForced = given.flag("force", false);
    if (given.problems.length > 0)
      throw PosthasteError.of("VALIDATION_FAILED", what, given.problems);
    const named = config.queues === undefined ? [DEFAULT_QUEUE, ...parts.definedQueues] : known;
    if (isForced || named.includes(name)) return;
    const stored =
      config.queues === undefined ? await ask(() => queuesInUse.known(database.reads)) : [];
    const all = [...new Set([...named, ...stored])];
    if (!all.includes(name)) throw unknownQueue(what, name, all);
  };
  return withRefusalsExplained({
    ...makeRecoveryAdmin(parts, ask),
    ...makeWorkflowAdmin(parts),
    queues: {
      async list() {
        const rows = await ask(() => pauseQueues.list(database.reads, known));
        return rows.map(({ queue, ...rest }) => ({ name: queue, ...rest }));
      },
      async pause(name, options) {
        await requireKnown("nothing was paused", name, options);
        return ask(() => pauseQueues.pause(database.reads, name));
      },
      async resume(name, options) {
        await requireKnown("nothing was resumed", name, options);
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
  });
}

/** Every call of these, however deep: what the role may not do is PERMISSION_DENIED. */
function withRefusalsExplained<Calls extends object>(calls: Calls): Calls {
  const wrapped = Object.entries(calls).map(([name, call]: [string, unknown]) => {
    if (typeof call === "object" && call !== null) return [name, withRefusalsExplained(call)];
    const ask = call as (...given: readonly unknown[]) => Promise<unknown>;
    return [name, (...given: readonly unknown[]) => explainRefusal(ask(...given))];
  });
  return Object.fromEntries(wrapped) as Calls;
}

function unknownQueue(what: string, name: string, known: readonly string[]): PosthasteError {
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? "" : ` did you mean "${nearest}"?`;
  const message = `there is no queue "${name}";${hint} Known: ${known.join(", ")}. { force: true } takes any name`;
  return PosthasteError.of("VALIDATION_FAILED", what, [{ path: "name", message }]);
}

function requireQueueName(name: unknown): void {
  const problem = queueNameProblem(name);
  if (problem === undefined) return;
  throw PosthasteError.of("VALIDATION_FAILED", "there is no such queue", [
    { path: "name", message: problem },
  ]);
}
