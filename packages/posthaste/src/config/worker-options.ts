/** The options of `app.worker()`. */
import type { Problem } from "../domain/errors.ts";
import { queueNameProblem, taskNameProblem } from "../domain/names.ts";
import { OptionReader } from "../domain/option-reader.ts";
import {
  DEFAULT_QUEUE,
  LOWEST_PRIORITY,
  type Config,
  type WorkerRecoveryConfig,
} from "./config.ts";
import { readFields, type ValueOf } from "./field.ts";
import {
  workerFields,
  workerPlainFields,
  workerQueueFields,
  workerRecoveryOptionFields,
} from "./worker-options-fields.ts";

export interface WorkerOptions {
  /** Queues to serve; default: all configured ones, else "default". */
  readonly queues?: readonly string[];
  /** How many tasks run at once, 1–10,000; default: the cores this process may use. */
  readonly concurrency?: number;
  /** How many tasks of one queue are claimed in one pass at most. Default 0: no limit. */
  readonly maxClaimBatch?: number;
  /** How many tasks the worker holds claimed and not yet started at most. Default 0: concurrency + `prefetchBuffer`. */
  readonly maxClaimPerWorker?: number;
  /** Which queue is emptied first, lower before higher; missing means 100. Default: the priorities of the config. */
  readonly queuePriorities?: Readonly<Record<string, number>>;
  /** How many tasks of a queue may run at once; missing means the config's `maxConcurrency`, else no limit. */
  readonly queueMaxConcurrency?: Readonly<Record<string, number>>;
  /** How many notifications are taken together when the worker wakes up. Default 100. */
  readonly coalesceNotifies?: number;
  /** The least level that this worker logs; default: the logger's own. A logger that is given keeps its own level too. */
  readonly logLevel?: LogLevel;
  /** "text" or "json", unless the app has a logger of its own. Default: text on a terminal, JSON otherwise. */
  readonly logFormat?: LogFormat;
  /** The port of HTTP probes, 1–65,535: `GET /live` and `GET /ready` answer 200 or 503. Default: none. */
  readonly healthPort?: number;
  /** How long `stop()` lets running tasks end before it aborts and gives them back. Default 30,000. */
  readonly shutdownGraceMs?: number;
  /**
   * The reaction when a handler has blocked the event loop for longer than `recovery.runningStaleThresholdMs`: its tasks are
   * recovered, and the process is stuck. `"exit"`, the default, ends it with SIGKILL (exit code 137), so
   * that a supervisor starts another. `"report"` writes a line to the log: for a worker inside a web process.
   */
  readonly onBlocked?: OnBlocked;
  /** How many threads run the tasks that block, 1–256; default: the cores this process may use. */
  readonly threads?: number;
  /** Whether it stores the schedules of its app and fires those that are due. Default true. */
  readonly scheduler?: boolean;
  /** Shown in listings; default: host and pid. */
  readonly name?: string;
  /** How often, at least, this worker refreshes its row, 100–3,600,000. Given, it enables `workerRecovery` for this worker. */
  readonly heartbeatIntervalMs?: number;
  /** How often this worker looks for others that fell silent, 100–3,600,000. Given, it enables `workerRecovery` for it. */
  readonly sweepIntervalMs?: number;
  /**
   * After how long without a heartbeat this worker sweeps another one: 100–86,400,000, at least two heartbeats. Given, it
   * enables `workerRecovery` for this worker.
   */
  readonly sweepThresholdMs?: number;
  /** How long tasks that this worker requeues wait, 0–86,400,000. Enables `workerRecovery` for this worker. */
  readonly recoveryDelayMs?: number;
}

export type OnBlocked = NonNullable<ValueOf<typeof workerPlainFields.onBlocked>>;

export type LogLevel = NonNullable<ValueOf<typeof workerPlainFields.logLevel>>;

export type LogFormat = NonNullable<ValueOf<typeof workerPlainFields.logFormat>>;

export interface WorkerSettings {
  readonly queues: readonly string[];
  /** 1–100 each: which queue is emptied first. Queues of one rank are emptied together, by task priority. */
  readonly queueRanks: ReadonlyMap<string, number>;
  /** How many tasks of a queue may run at once; a queue without a limit is not in it. */
  readonly queueCaps: ReadonlyMap<string, number>;
  readonly concurrency: number;
  /** Claims of one queue in one pass; 0: no limit. */
  readonly maxClaimBatch: number;
  /** Tasks held at once that are claimed and not yet started. */
  readonly maxClaimPerWorker: number;
  readonly coalesceNotifies: number;
  /** Undefined: the logger's own. */
  readonly logLevel: LogLevel | undefined;
  readonly logFormat: LogFormat | undefined;
  /** Undefined: no probes. */
  readonly healthPort: number | undefined;
  readonly shutdownGraceMs: number;
  readonly onBlocked: OnBlocked;
  readonly threads: number;
  readonly scheduler: boolean;
  readonly name: string | undefined;
  /** The config's, overridden by this worker's options. */
  readonly workerRecovery: WorkerRecoveryConfig;
}

export function readWorkerOptions(
  given: unknown,
  config: Config,
  cores: number,
): { readonly settings: WorkerSettings; readonly problems: readonly Problem[] } {
  const options = new OptionReader("", given, Object.keys(workerFields));
  const known = [...(config.queues?.keys() ?? [DEFAULT_QUEUE])];
  const queues = readQueues(options, known, config.queues !== undefined);
  const queueRanks = readRanks(options, queues, config);
  const queueCaps = readCaps(options, queues, config);
  const plain = readFields(options, workerPlainFields);
  checkName(options, plain.name);
  const concurrency = plain.concurrency ?? cores;
  const settings: WorkerSettings = {
    ...plain,
    queues: [...queues].sort((a, b) => (queueRanks.get(a) ?? 0) - (queueRanks.get(b) ?? 0)),
    queueRanks,
    queueCaps,
    concurrency,
    maxClaimPerWorker: plain.maxClaimPerWorker || concurrency + config.prefetchBuffer,
    workerRecovery: readWorkerRecovery(options, config.workerRecovery),
    threads: plain.threads ?? Math.min(cores, workerPlainFields.threads.max),
  };
  return { settings, problems: options.problems };
}

/** The options of `app.scheduler()`, as those of a worker. */
export type SchedulerOptions = Pick<WorkerOptions, "logLevel" | "name">;

/** A worker that serves no queue and has no slot. */
export function readSchedulerOptions(
  given: unknown,
  config: Config,
): { readonly settings: WorkerSettings; readonly problems: readonly Problem[] } {
  const { problems } = new OptionReader("", given, ["logLevel", "name"]);
  const read = readWorkerOptions(problems.length > 0 ? undefined : given, config, 1);
  const none = { queues: [], queueRanks: new Map(), queueCaps: new Map(), concurrency: 0 };
  return {
    settings: { ...read.settings, ...none, maxClaimPerWorker: 0, scheduler: true },
    problems: [...problems, ...read.problems],
  };
}

/** Any of the four options enables it, even if the config disables it. */
function readWorkerRecovery(
  options: OptionReader,
  configured: WorkerRecoveryConfig,
): WorkerRecoveryConfig {
  const found = options.problems.length;
  const read = Object.entries(readFields(options, workerRecoveryOptionFields));
  const given = read.filter(([, value]) => value !== undefined);
  if (given.length === 0) return configured;
  const effective = { ...configured, ...Object.fromEntries(given), enabled: true };
  const { sweepThresholdMs, heartbeatIntervalMs } = effective;
  if (options.problems.length === found && sweepThresholdMs < 2 * heartbeatIntervalMs) {
    const isDefault = options.value("sweepThresholdMs") === undefined ? ", that of the config" : "";
    options.complain(
      "sweepThresholdMs",
      `expected at least twice heartbeatIntervalMs (${2 * heartbeatIntervalMs}), found ${sweepThresholdMs}${isDefault}`,
    );
  }
  return effective;
}

/** It is shown to people, so it follows the rule of task names. */
function checkName(options: OptionReader, name: string | undefined): void {
  const problem = name === undefined ? undefined : taskNameProblem(name);
  if (problem !== undefined) options.complain("name", problem);
}

function readQueues(
  options: OptionReader,
  known: readonly string[],
  areConfigured: boolean,
): string[] {
  const given = options.value("queues");
  if (given === undefined) return [...known];
  if (
    !Array.isArray(given) ||
    given.length === 0 ||
    !given.every((name) => typeof name === "string")
  ) {
    options.complain("queues", "expected a list of at least one queue name");
    return [...known];
  }
  const names = [...new Set(given)];
  for (const name of names) {
    const problem = queueNameProblem(name);
    if (problem !== undefined) options.complain("queues", problem);
  }
  const unknown = names.filter((name) => !known.includes(name) && !queueNameProblem(name));
  if (areConfigured && unknown.length > 0) {
    options.complain(
      "queues",
      `"${unknown.join('", "')}" not configured; known: ${known.join(", ")}`,
    );
  }
  return names;
}

function readRanks(
  options: OptionReader,
  queues: readonly string[],
  config: Config,
): ReadonlyMap<string, number> {
  const group = options.group("queuePriorities", queues);
  return new Map(
    queues.map((name) => {
      const configured = config.queues?.get(name)?.priority ?? LOWEST_PRIORITY;
      return [name, group.integer(name, workerQueueFields.queuePriorities, configured)];
    }),
  );
}

function readCaps(
  options: OptionReader,
  queues: readonly string[],
  config: Config,
): ReadonlyMap<string, number> {
  const group = options.group("queueMaxConcurrency", queues);
  const caps = new Map<string, number>();
  for (const name of queues) {
    const configured = config.queues?.get(name)?.maxConcurrency ?? undefined;
    const cap = group.integer(name, workerQueueFields.queueMaxConcurrency, configured);
    if (cap !== undefined) caps.set(name, cap);
  }
  return caps;
}
