/** The calls for operators. */
import { DEFAULT_QUEUE, type Config } from "../config/config.ts";
import { explainMissingRights, repeatSafely } from "../database/repeat-safely.ts";
import type { AnyContract } from "../define/task.ts";
import { examine, type Finding } from "../doctor/doctor.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import { queueNameProblem } from "../domain/names.ts";
import { nearestName } from "../domain/nearest-name.ts";
import { OptionReader } from "../domain/option-reader.ts";
import { pruneAll, type Pruned } from "../recovery/prune.ts";
import type { OperatorAction } from "../store/queries/operate/operator-actions.ts";
import { operatorRecord } from "./operator-record.ts";
import {
  makeRecoveryAdmin,
  type RecoveryAdmin,
  type RecoveryAdminParts,
} from "./recovery-admin.ts";
import { readStats, readStatsOptions, type Stats, type StatsOptions } from "./statistics-admin.ts";
import {
  makeScheduleAdmin,
  type ScheduleAdmin,
  type ScheduleAdminParts,
} from "./schedule-admin.ts";
import { makeTaskAdmin, type TaskAdmin } from "./task-admin.ts";
import { readDoctorOptions, type DoctorOptions } from "./doctor-options.ts";
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

export type { SendByNameOptions } from "./send-by-name.ts";
export type { HeartbeatSpan, TaskTimeline, TimelineEvent } from "./task-timeline.ts";
export type { ScheduleInfo, TriggeredFiring } from "./schedule-admin.ts";
export type { Finding, FindingCode } from "../doctor/doctor.ts";
export type { DoctorOptions } from "./doctor-options.ts";
export type { Pruned } from "../recovery/prune.ts";
export type { CapHolder, CapOpinion, TaskGate } from "../domain/task-gates.ts";
export type { OperatorAction } from "../store/queries/operate/operator-actions.ts";
export type { Explanation } from "./explain-task.ts";
export type { ListTasksOptions, TaskPage, TaskSummary } from "./list-tasks.ts";
export type {
  ChangedTasks,
  PaceOptions,
  RetryOptions,
  SendAgainOptions,
  TaskAdmin,
} from "./task-admin.ts";
export type { EndedFilter, OpenFilter, TaskFilter } from "./task-conditions.ts";
export type { OpenStatus, RetryableStatus } from "../domain/task-lifecycle.ts";
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
export interface AdminParts
  extends
    Omit<RecoveryAdminParts, "record" | "definitions">,
    Omit<ScheduleAdminParts, "config" | "record"> {
  /** The definitions of the app by name. */
  readonly definitions: ReadonlyMap<string, AnyContract>;
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
  readonly tasks: TaskAdmin;
  readonly actions: {
    /** The actions of operators: latest first, on one task, run or queue (`target`) or on all. `limit` is 1–10,000, by default 100. */
    list(options?: {
      readonly target?: string;
      readonly limit?: number;
    }): Promise<readonly OperatorAction[]>;
  };
  /**
   * The same calls, recorded as those of this person or program. The record always has the role that is logged in.
   *
   *     await app.admin.as("ann@example.com").queues.pause("mail");
   */
  as(actedBy: string): Admin;
  /**
   * The depth of each queue now, and counts, rates and percentiles of the last 15 minutes. Depths are exact up to 100,000 for each
   * priority. Ends are approximate: workers report them every half minute, and a killed worker loses its last half minute.
   */
  stats(options?: StatsOptions): Promise<Stats>;
  /**
   * Looks for everything that is known to make trouble: the server, the schema, connections, vacuum, queues and workers.
   * Returns nothing where all is well; problems first.
   */
  doctor(options?: DoctorOptions): Promise<readonly Finding[]>;
  /**
   * Deletes all records past the config's retention now, in small batches; workers do the same every hour. With `dryRun` it only
   * counts.
   */
  prune(options?: { readonly dryRun?: boolean }): Promise<Pruned>;
}

export function makeAdmin(parts: AdminParts, config: Config, actedBy?: string): Admin {
  const { database } = parts;
  const { operatorActions } = database.store;
  const record = operatorRecord(database, actedBy);
  const { pauseQueues, queuesInUse } = database.store;
  const known = [...(config.queues?.keys() ?? [])];
  const ask = <Answer>(question: () => Promise<Answer>): Promise<Answer> =>
    repeatSafely(async () => {
      await database.ensureSchema();
      return question();
    });
  const change = async (
    action: string,
    queue: string,
    run: () => Promise<boolean>,
  ): Promise<boolean> => {
    const { answer } = await record.run({ action, target: queue }, async () => {
      const hasChanged = await ask(run);
      return { answer: hasChanged, changed: hasChanged ? 1 : 0 };
    });
    return answer;
  };
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
  const calls: Omit<Admin, "as"> = withRefusalsExplained({
    ...makeRecoveryAdmin({ ...parts, record }, ask),
    ...makeWorkflowAdmin({ ...parts, record }),
    ...makeScheduleAdmin({ ...parts, config, record }),
    queues: {
      async list() {
        const rows = await ask(() => pauseQueues.list(database.reads, known));
        return rows.map(({ queue, ...rest }) => ({ name: queue, ...rest }));
      },
      async pause(name, options) {
        await requireKnown("nothing was paused", name, options);
        return change("pause queue", name, () => pauseQueues.pause(database.reads, name));
      },
      async resume(name, options) {
        await requireKnown("nothing was resumed", name, options);
        return change("resume queue", name, () => pauseQueues.resume(database.reads, name));
      },
    },
    tasks: makeTaskAdmin(
      { ...parts, record, config, staleAfterMs: config.workerRecovery.sweepThresholdMs },
      ask,
    ),
    actions: {
      async list(options) {
        const given = new OptionReader("options", options, ["target", "limit"]);
        const target = given.text("target");
        const limit = given.integer("limit", { min: 1, max: 10_000 }, 100);
        if (given.problems.length > 0)
          throw PosthasteError.of("VALIDATION_FAILED", "no actions were listed", given.problems);
        return ask(() => operatorActions.list(database.reads, target, limit));
      },
    },
    async stats(options) {
      const spanMs = readStatsOptions(options);
      return ask(() => readStats(database, spanMs));
    },
    doctor: async (options) => examine({ ...parts, config }, readDoctorOptions(options, config)),
    async prune(options) {
      const problems: Problem[] = [];
      const given = new OptionReader("", options, ["dryRun"], problems);
      const dryRun = given.flag("dryRun", false);
      if (problems.length > 0)
        throw PosthasteError.of("VALIDATION_FAILED", "nothing was pruned", problems);
      const pruned = (): Promise<Pruned> => ask(() => pruneAll(database, config.recovery, dryRun));
      if (dryRun) return pruned();
      const { answer } = await record.run({ action: "prune" }, async () => {
        const found = await pruned();
        return {
          answer: found,
          changed: Object.values(found).reduce((sum, rows) => sum + rows, 0),
        };
      });
      return answer;
    },
  });
  return {
    ...calls,
    as(who) {
      if (typeof who !== "string" || who === "")
        throw PosthasteError.of("VALIDATION_FAILED", "the action would have no author", [
          { path: "actedBy", message: "expected the name of a person or program" },
        ]);
      return makeAdmin(parts, config, who);
    },
  };
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
