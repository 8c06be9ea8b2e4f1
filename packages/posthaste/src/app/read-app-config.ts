/** Everything `posthaste()` was given, checked together: the config's rules and the tasks' among each other. */
import { DEFAULT_QUEUE, readConfig, type Config, type Environment } from "../config/config.ts";
import { hooksProblems } from "../define/hook-rules.ts";
import type { Hooks } from "../define/hooks.ts";
import type { MaybePromise } from "../define/schema.ts";
import type { WorkerContext } from "../define/task-context.ts";
import { isSchedule, type Schedule } from "../define/schedule.ts";
import { isContract, isTask, type AnyContract, type AnyTask } from "../define/task.ts";
import { isWorkflow, type AnyWorkflow } from "../define/workflow.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import type { AppLogger } from "../domain/logger.ts";
import { article } from "../domain/names.ts";
import { nearestName } from "../domain/nearest-name.ts";
import { isRecord, shown } from "../domain/option-reader.ts";
import { fileUrl } from "./caller-file.ts";

const fileRule =
  "expected the file URL or absolute path of a file that is there, such as import.meta.url";

export interface AppConfig {
  /**
   * A URL, `"embedded"`, or an object. Left out: the environment's DATABASE_URL, else the embedded server, except when
   * NODE_ENV is production.
   */
  readonly database?:
    | string
    | {
        readonly url: string;
        /** A direct connection for LISTEN, when `url` leads to a transaction pooler. */
        readonly sessionUrl?: string;
        /** How many connections `ctx.transaction` may use at once, 1–1,000. Default 10. */
        readonly poolSize?: number;
        /** Whether statements are prepared. Default: on, except behind a pooler. */
        readonly preparedStatements?: boolean;
      };
  /** The schema that holds everything. Default "posthaste". */
  readonly schema?: string;
  /** `false`: workers and the first send only verify the schema. Default true. */
  readonly autoMigrate?: boolean;
  /** The tasks this app's workers can run. */
  readonly tasks?: readonly AnyContract[];
  /** The workflows this app starts; `check()` looks at them. */
  readonly workflows?: readonly AnyWorkflow[];
  /** The schedules that a starting worker stores, from `defineSchedule`. */
  readonly schedules?: readonly Schedule[];
  /** Queues besides which none may be named; left out, there is "default". */
  readonly queues?: Readonly<Record<string, QueueOptions>>;
  /**
   * Whether a task may start at once on a worker of the same app that has a free slot, without waiting in its queue first. Default
   * true.
   */
  readonly directStart?: boolean;
  /** How many tasks may run at once in all workers together; not with a `prefetchBuffer`. Default null: no limit. */
  readonly clusterWideCap?: number | null;
  /** Tasks a worker fetches beyond its free slots. Default 0. */
  readonly prefetchBuffer?: number;
  /**
   * Whether prefetched tasks with `onCrash: "requeue"` are stored as RUNNING at once, so that they start without another round trip.
   * Default false.
   */
  readonly startAhead?: boolean;
  /** How long a claim is good without a renewal; at least two claimer heartbeats. Default 60,000. */
  readonly claimLeaseMs?: number;
  /**
   * The reaction of a worker to a task whose name it does not know: `"wait"` returns it to its place for a worker that knows the name,
   * `"fail"` fails it at once with WORKER_RESOLUTION_ERROR. Default "wait".
   */
  readonly unknownTasks?: "wait" | "fail";
  /**
   * With "wait": a task whose name no worker ever listed fails after this many ms in a queue that a living worker serves,
   * 1,000–604,800,000. Default 300,000.
   */
  readonly unknownTaskGraceMs?: number;
  /** When a worker counts as dead, how its tasks are recovered, and how long ended tasks are kept. */
  readonly recovery?: RecoveryOptions;
  /** Whether and when workers sweep silent workers. Any field enables it, unless `enabled` is false. */
  readonly workerRecovery?: WorkerRecoveryOptions;
  /** How workers behave while the database is away. */
  readonly resilience?: ResilienceOptions;
  readonly payload?: {
    /** Inputs above this are logged once per task. Default 1 MiB; null: never. */
    readonly warnBytes?: number | null;
    /** Inputs above this are refused, and results above it fail. Default null: none. */
    readonly rejectBytes?: number | null;
  };
  /** Makes, once for each worker, what handlers get as `ctx.context`. */
  readonly context?: () => MaybePromise<WorkerContext>;
  /**
   * Functions that decide about recovered tasks, and functions that are called on events: each a function or a list of them.
   *
   *     hooks: { taskFailed: ({ name, error }) => metrics.failed(name, error.code) }
   */
  readonly hooks?: Hooks;
  /**
   * The file that makes this app, as a file URL or an absolute path: threads for blocking tasks load it again. Default:
   * the file that calls `posthaste()`. If that is another file, name the file that has the tasks:
   *
   *     export const app = makeApp({ file: import.meta.url, tasks });
   */
  readonly file?: string | URL;
  /**
   * Any object with pino's debug, info, warn and error: pino itself, `console`, or your own. It is called with the fields first
   * and the text second. Default: JSON lines to stderr, level info.
   */
  readonly logger?: AppLogger;
}

export interface QueueOptions {
  /** Which queue is emptied first, and the priority of tasks that name none; 1–100, lower is first. Default 100. */
  readonly priority?: number;
  /** How many tasks of the queue may run at once, at least 1: to stop a queue, pause it. Default null: no limit. */
  readonly maxConcurrency?: number | null;
}

export interface RecoveryOptions {
  /** Give tasks back that a silent worker has claimed and not started. Default true. */
  readonly autoRequeueStaleClaimed?: boolean;
  /** 1,000–3,600,000, at least two claimer heartbeats. Default 120,000. */
  readonly claimedStaleThresholdMs?: number;
  /** End, or retry by their policy, tasks that run on a silent worker. Default true. */
  readonly autoFailStaleRunning?: boolean;
  /** 1,000–7,200,000, at least two runner heartbeats. Default 300,000. */
  readonly runningStaleThresholdMs?: number;
  /** How often the maintenance pass runs, 1,000–600,000. Default 30,000. */
  readonly checkIntervalMs?: number;
  /** How often a worker sends heartbeats for running tasks, 1,000–120,000. Default 30,000. */
  readonly runnerHeartbeatIntervalMs?: number;
  /** How often a worker sends heartbeats for claimed tasks that have not started, 1,000–120,000. Default 30,000. */
  readonly claimerHeartbeatIntervalMs?: number;
  /** How long heartbeats are kept, 1–8,760; null: forever. Default 24. */
  readonly heartbeatRetentionHours?: number | null;
  /** How long samples of workers, dead workers and recoveries are kept, 1–8,760; null: forever. Default 168. */
  readonly workerStateRetentionHours?: number | null;
  /** How long ended tasks are kept, 1–43,800; null: forever. Default 720. */
  readonly terminalRecordRetentionHours?: number | null;
  /** How long FAILED, CANCELLED and EXPIRED tasks are kept, 1–43,800; null: forever. Default: `terminalRecordRetentionHours`. */
  readonly failedRecordRetentionHours?: number | null;
  /** How long counts and histograms of ended tasks are kept, 1–43,800; null: forever. Default 744. */
  readonly rollupRetentionHours?: number | null;
  /** How long a worker's session may be missing before the worker counts as crashed, 1,000–600,000. Default 5,000. */
  readonly crashGraceMs?: number;
}

export interface WorkerRecoveryOptions {
  /**
   * Whether silent workers are swept and their running tasks are requeued without spending a retry. Default false; true if another
   * field of the group is given.
   */
  readonly enabled?: boolean;
  /** How often, at least, a worker refreshes its row, 100–3,600,000. Default 30,000. */
  readonly heartbeatIntervalMs?: number;
  /** How often workers look for others that fell silent, 100–3,600,000. Default 60,000. */
  readonly sweepIntervalMs?: number;
  /** After how long without a heartbeat a worker is swept, 100–86,400,000, at least two heartbeats. Default 300,000. */
  readonly sweepThresholdMs?: number;
  /** How long a requeued task waits before it runs again, 0–86,400,000. Default 30,000. */
  readonly recoveryDelayMs?: number;
  /** How many times longer a resilient task is left to its worker, 1–1,000. Default 3. */
  readonly resilientSweepThresholdMultiplier?: number;
  /** A task is resilient when one of these flags is set on it, and true. Default `[INFRASTRUCTURE_RESILIENT_FLAG]`. */
  readonly resilientTaskFlags?: readonly string[];
}

export interface ResilienceOptions {
  /** The first pause, 100–60,000; it doubles with every further one. Default 500. */
  readonly dbRetryInitialMs?: number;
  /** The longest pause, 500–300,000. Default 30,000. */
  readonly dbRetryMaxMs?: number;
  /** After how many pauses a worker gives up, 0–10,000. Default 0: never. */
  readonly dbRetryMaxAttempts?: number;
  /** How often workers and waits look by themselves, 1,000–300,000. Default 5,000. */
  readonly notifyPollIntervalMs?: number;
}

export interface ReadAppConfig {
  readonly config: Config;
  readonly context: AppConfig["context"];
  readonly hooks: Hooks;
  readonly tasks: readonly AnyTask[];
  readonly contracts: readonly AnyContract[];
  readonly workflows: readonly AnyWorkflow[];
  readonly schedules: readonly Schedule[];
  /** The `file` option. */
  readonly file: URL | undefined;
}

export function readAppConfig(given: AppConfig, environment: Environment): ReadAppConfig {
  const { config, problems: found } = readConfig(given, environment);
  const problems = [...found];
  const { tasks, workflows, schedules, logger, context, hooks, file } = isRecord(given)
    ? given
    : {};
  const listed = readTasks(tasks, config, problems);
  const readWorkflows = readWorkflowList(workflows, problems);
  const readSchedules = readScheduleList(schedules, config, problems);
  if (context !== undefined && typeof context !== "function") {
    problems.push({ path: "context", message: `expected a function, found ${article(context)}` });
  }
  problems.push(...hooksProblems(hooks));
  checkLogger(logger, problems);
  const appFile = fileUrl(file);
  if (file !== undefined && appFile === undefined) {
    problems.push({
      path: "file",
      message: `${fileRule}, found ${shown(file instanceof URL ? file.href : file)}`,
    });
  }
  if (problems.length > 0)
    throw PosthasteError.of("CONFIG_INVALID", "the config is not valid", problems);
  return {
    config,
    context: given.context,
    hooks: given.hooks ?? {},
    tasks: listed.filter(isTask),
    contracts: listed.filter((task) => !isTask(task)),
    workflows: readWorkflows,
    schedules: readSchedules,
    file: appFile,
  };
}

function readTasks(given: unknown, config: Config, problems: Problem[]): AnyContract[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) {
    problems.push({ path: "tasks", message: `expected a list of tasks, found ${article(given)}` });
    return [];
  }
  const listed: AnyContract[] = [];
  for (const [index, task] of (given as unknown[]).entries()) {
    const path = `tasks[${index}]`;
    if (!isContract(task)) {
      problems.push({
        path,
        message: `expected a task from defineTask(), found ${article(task)}`,
      });
      continue;
    }
    if (listed.some(({ name }) => name === task.name)) {
      problems.push({ path, message: `the name "${task.name}" is taken by another task` });
    }
    const problem = queueProblem(task, config);
    if (problem !== undefined) problems.push({ path, message: problem });
    listed.push(task);
  }
  return listed;
}

/** Problems inside of a workflow are found by `check()` and by `start`. */
function readWorkflowList(given: unknown, problems: Problem[]): AnyWorkflow[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) {
    const message = `expected a list of workflows, found ${article(given)}`;
    problems.push({ path: "workflows", message });
    return [];
  }
  const listed: AnyWorkflow[] = [];
  for (const [index, workflow] of (given as unknown[]).entries()) {
    const path = `workflows[${index}]`;
    if (!isWorkflow(workflow)) {
      const message = `expected a workflow from defineWorkflow(), found ${article(workflow)}`;
      problems.push({ path, message });
      continue;
    }
    if (listed.some(({ name }) => name === workflow.name)) {
      problems.push({ path, message: `the name "${workflow.name}" is taken by another workflow` });
    }
    listed.push(workflow);
  }
  return listed;
}

/** Inputs are checked by `check()`, and when a worker starts. */
function readScheduleList(given: unknown, config: Config, problems: Problem[]): Schedule[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) {
    const message = `expected a list of schedules, found ${article(given)}`;
    problems.push({ path: "schedules", message });
    return [];
  }
  const listed: Schedule[] = [];
  for (const [index, schedule] of (given as unknown[]).entries()) {
    const path = `schedules[${index}]`;
    if (!isSchedule(schedule)) {
      const message = `expected a schedule from defineSchedule(), found ${article(schedule)}`;
      problems.push({ path, message });
      continue;
    }
    if (listed.some(({ name }) => name === schedule.name)) {
      problems.push({ path, message: `the name "${schedule.name}" is taken by another schedule` });
    }
    const problem =
      "task" in schedule.target ? queueProblem(schedule.target.task, config) : undefined;
    if (problem !== undefined) problems.push({ path, message: problem });
    listed.push(schedule);
  }
  return listed;
}

function queueProblem(task: AnyContract, { queues }: Config): string | undefined {
  const queue = task.queue ?? DEFAULT_QUEUE;
  const known = [...(queues?.keys() ?? [DEFAULT_QUEUE])];
  // Without configured queues a task may still name one: a worker elsewhere may serve it.
  if (queues === undefined || known.includes(queue)) return undefined;
  const nearest = nearestName(queue, known);
  const hint = nearest === undefined ? `known: ${known.join(", ")}` : `did you mean "${nearest}"?`;
  return task.queue === undefined
    ? `task "${task.name}" names no queue, and "${DEFAULT_QUEUE}" is not among those configured; ${hint}`
    : `task "${task.name}" names the queue "${queue}", which is not configured; ${hint}`;
}

function checkLogger(logger: unknown, problems: Problem[]): void {
  if (logger === undefined) return;
  const missing = ["debug", "info", "warn", "error"].filter(
    (level) =>
      typeof logger !== "object" ||
      logger === null ||
      typeof Reflect.get(logger, level) !== "function",
  );
  if (missing.length > 0) {
    problems.push({
      path: "logger",
      message: `expected the methods debug, info, warn and error; ${missing.join(", ")} missing`,
    });
  }
}
