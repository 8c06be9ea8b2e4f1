/** Everything `posthaste()` was given, checked together: the config's rules and the tasks' among each other. */
import { isContract, isTask, type AnyContract, type AnyTask } from "../define/task.ts";
import { DEFAULT_QUEUE, readConfig, type Config, type Environment } from "../domain/config.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
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
        /** Off behind a transaction pooler that does not know prepared statements. Default true. */
        readonly preparedStatements?: boolean;
      };
  /** The schema that holds everything. Default "posthaste". */
  readonly schema?: string;
  /** `false`: workers and the first send only verify the schema. Default true. */
  readonly autoMigrate?: boolean;
  /** The tasks this app's workers can run. */
  readonly tasks?: readonly AnyContract[];
  /** Queues besides which none may be named; left out, there is "default". */
  readonly queues?: Readonly<Record<string, { readonly priority?: number }>>;
  /** Tasks a worker fetches beyond its free slots. Default 0. */
  readonly prefetchBuffer?: number;
  /** How long a claim is good without a renewal. Default 60,000. */
  readonly claimLeaseMs?: number;
  readonly recovery?: {
    readonly checkIntervalMs?: number;
    readonly runnerHeartbeatIntervalMs?: number;
    readonly claimerHeartbeatIntervalMs?: number;
  };
  /** How workers behave while the database is away. */
  readonly resilience?: {
    readonly dbRetryInitialMs?: number;
    readonly dbRetryMaxMs?: number;
    /** 0: for ever. */
    readonly dbRetryMaxAttempts?: number;
    readonly notifyPollIntervalMs?: number;
  };
  readonly payload?: {
    /** Inputs above this are logged once per task. Default 1 MiB; null: never. */
    readonly warnBytes?: number | null;
    /** Inputs above this are refused. Default null: none. */
    readonly rejectBytes?: number | null;
  };
  /**
   * The file that makes this app, as a file URL or an absolute path: threads for blocking tasks load it again. Default:
   * the file that calls `posthaste()`. Where that is another one, the file that has the tasks says it:
   *
   *     export const app = makeApp({ file: import.meta.url, tasks });
   */
  readonly file?: string | URL;
  /** Any object with pino's debug, info, warn and error. Default: JSON lines to stderr, level info. */
  readonly logger?: Logger;
}

export interface ReadAppConfig {
  readonly config: Config;
  readonly tasks: readonly AnyTask[];
  readonly contracts: readonly AnyContract[];
  /** What `file` said. */
  readonly file: URL | undefined;
}

export function readAppConfig(given: AppConfig, environment: Environment): ReadAppConfig {
  const { config, problems: found } = readConfig(given, environment);
  const problems = [...found];
  const { tasks, logger, file } = isRecord(given) ? given : {};
  const listed = readTasks(tasks, config, problems);
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
    tasks: listed.filter(isTask),
    contracts: listed.filter((task) => !isTask(task)),
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
        message: `expected what defineTask() returns, found ${article(task)}`,
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

function queueProblem(task: AnyContract, { queues }: Config): string | undefined {
  const queue = task.queue ?? DEFAULT_QUEUE;
  const known = [...(queues?.keys() ?? [DEFAULT_QUEUE])];
  // Without configured queues a task may still name one: a worker elsewhere may serve it.
  if (queues === undefined || known.includes(queue)) return undefined;
  const nearest = nearestName(queue, known);
  const hint =
    nearest === undefined ? `known are ${known.join(", ")}` : `did you mean "${nearest}"?`;
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
