/** The calls for operators. */
import { DEFAULT_QUEUE, type Config } from "../config/config.ts";
import { explainMissingRights, repeatSafely } from "../database/repeat-safely.ts";
import type { TaskInfo } from "../define/task-handle.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import { queueNameProblem } from "../domain/names.ts";
import { nearestName } from "../domain/nearest-name.ts";
import { OptionReader } from "../domain/option-reader.ts";
import { pruneAll, type Pruned } from "../recovery/prune.ts";
import { requireUuid } from "../sending/uuid-v7.ts";
import { cancelTask } from "../waiting/cancel-task.ts";
import { readTaskInfo } from "../waiting/read-task-info.ts";
import {
  makeRecoveryAdmin,
  type RecoveryAdmin,
  type RecoveryAdminParts,
} from "./recovery-admin.ts";
import {
  makeScheduleAdmin,
  type ScheduleAdmin,
  type ScheduleAdminParts,
} from "./schedule-admin.ts";
import { readStats, readStatsOptions, type Stats, type StatsOptions } from "./statistics-admin.ts";
import { sendByName, type SendByNameOptions } from "./send-by-name.ts";
import { readTaskTimeline, type TaskTimeline } from "./task-timeline.ts";
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

export type { ScheduleInfo, TriggeredFiring } from "./schedule-admin.ts";
export type { SendByNameOptions } from "./send-by-name.ts";
export type { HeartbeatSpan, TaskTimeline, TimelineEvent } from "./task-timeline.ts";
export type { Pruned } from "../recovery/prune.ts";
export type {
  EndStats,
  Percentiles,
  QueueStats,
  Stats,
  StatsOptions,
  TaskStats,
} from "./statistics-admin.ts";
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

/** The dependencies of the admin calls. */
export interface AdminParts extends RecoveryAdminParts, Omit<ScheduleAdminParts, "config"> {
  /** The queues that the app's definitions name. */
  readonly definedQueues: readonly string[];
}

export interface Admin extends RecoveryAdmin, ScheduleAdmin, WorkflowAdmin {
  readonly queues: {
    /** Queues that are configured, hold a task, or were ever paused. */
    list(): Promise<readonly QueueInfo[]>;
    /**
     * From now on no worker claims or starts tasks of the queue. Prefetched tasks are released, running tasks go on. The pause is stored and
     * holds until `resume`. Returns false if the queue was paused already.
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
    /** The task with its input, its end, and every moment that is stored about it. Throws TASK_NOT_FOUND if there is no such task. */
    timeline(id: string): Promise<TaskTimeline>;
    /**
     * Sends a task by its name, without its definition; returns its id. Throws TASK_NOT_FOUND if no worker has ever registered
     * the name.
     */
    send(name: string, input?: Json, options?: SendByNameOptions): Promise<string>;
  };
  /**
   * The depth of each queue now, and counts, rates and percentiles of the last 15 minutes. Depths are exact up to 100,000 for each
   * priority. Ends are approximate: workers report them every half minute, and a killed worker loses its last half minute.
   */
  stats(options?: StatsOptions): Promise<Stats>;
  /**
   * Deletes all records past the config's retention now, in small batches; workers do the same every hour. With `dryRun` it only
   * counts.
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
    ...makeScheduleAdmin({ ...parts, config }),
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
      timeline: (id) => readTaskTimeline(database, id),
      send: (name, input, options) => sendByName(database, name, input, options),
    },
    async stats(options) {
      const spanMs = readStatsOptions(options);
      return ask(() => readStats(database, spanMs));
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

/** Wraps all calls, nested ones too: a missing right becomes PERMISSION_DENIED. */
function withRefusalsExplained<Calls extends object>(calls: Calls): Calls {
  const wrapped = Object.entries(calls).map(([name, call]: [string, unknown]) => {
    if (typeof call === "object" && call !== null) return [name, withRefusalsExplained(call)];
    const ask = call as (...given: readonly unknown[]) => Promise<unknown>;
    return [name, (...given: readonly unknown[]) => explainMissingRights(ask(...given))];
  });
  return Object.fromEntries(wrapped) as Calls;
}

function unknownQueue(what: string, name: string, known: readonly string[]): PosthasteError {
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? "" : ` did you mean "${nearest}"?`;
  const message = `there is no queue "${name}";${hint} Known: ${known.join(", ")}. { force: true } takes any name`;
  return PosthasteError.of("QUEUE_NOT_FOUND", what, [{ path: "name", message }]);
}

function requireQueueName(name: unknown): void {
  const problem = queueNameProblem(name);
  if (problem === undefined) return;
  throw PosthasteError.of("VALIDATION_FAILED", "there is no such queue", [
    { path: "name", message: problem },
  ]);
}
