/** Every option of a worker. field.ts lists its uses. */
import { LOWEST_PRIORITY } from "./app-fields.ts";
import type { Field } from "./field.ts";
import { workerRecoveryFields } from "./recovery-fields.ts";

const unbounded = Number.MAX_SAFE_INTEGER;

type Fields = Readonly<Record<string, Field>>;

/** Which queues, and what holds for each of them. */
export const workerQueueFields = {
  queues: {
    kind: "queue names",
    default: undefined,
    defaultInWords: 'all that are configured, else "default"',
    meaning: "Which queues to serve",
    seedName: "queues",
  },
  queuePriorities: {
    kind: "number by queue",
    default: undefined,
    defaultInWords: `those of the config, else ${LOWEST_PRIORITY}`,
    min: 1,
    max: LOWEST_PRIORITY,
    meaning: "Which queue is emptied first, lower before higher",
    seedName: "queue_priorities",
  },
  queueMaxConcurrency: {
    kind: "number by queue",
    default: undefined,
    defaultInWords: "those of the config, else none",
    min: 1,
    max: unbounded,
    insteadOfZero: "to stop a queue, pause it",
    meaning: "How many tasks of a queue may run at once",
    seedName: "queue_max_concurrency",
  },
} as const satisfies Fields;

/** The options that need nothing but their own rule. */
export const workerPlainFields = {
  concurrency: {
    kind: "whole number",
    default: undefined,
    defaultInWords: "the cores this process may use",
    min: 1,
    max: 10_000,
    meaning: "How many tasks run at once",
    seedName: "concurrency",
  },
  maxClaimBatch: {
    kind: "whole number",
    default: 0,
    min: 0,
    max: 100_000,
    meaning: "How many tasks of one queue are claimed in one pass at most; 0: no limit",
    seedName: "max_claim_batch",
  },
  maxClaimPerWorker: {
    kind: "whole number",
    default: 0,
    min: 0,
    max: 110_000,
    meaning:
      "How many tasks the worker holds claimed and not yet started at most; 0: concurrency + prefetchBuffer",
    seedName: "max_claim_per_worker",
  },
  coalesceNotifies: {
    kind: "whole number",
    default: 100,
    min: 1,
    max: unbounded,
    meaning: "How many notifications are taken together when the worker wakes up",
    seedName: "coalesce_notifies",
  },
  logLevel: {
    kind: "choice",
    choices: ["debug", "info", "warn", "error"],
    default: undefined,
    defaultInWords: "the logger's own",
    meaning: "The lowest level that this worker logs",
    seedName: "loglevel",
  },
  logFormat: {
    kind: "choice",
    choices: ["text", "json"],
    default: undefined,
    defaultInWords: "text on a terminal, json otherwise",
    meaning: "How lines are written, unless the app has a logger of its own",
  },
  healthPort: {
    kind: "whole number",
    default: undefined,
    defaultInWords: "none",
    min: 1,
    max: 65_535,
    meaning:
      "The port of HTTP probes: GET /live and GET /ready answer 200 or 503, with the worker's health as JSON",
  },
  shutdownGraceMs: {
    kind: "whole number",
    default: 30_000,
    min: 0,
    max: 86_400_000,
    meaning:
      "How long running tasks may take to end when the worker stops, before they are aborted and given back",
  },
  onBlocked: {
    kind: "choice",
    choices: ["exit", "report"],
    default: "exit",
    meaning:
      "What happens to a process whose event loop is blocked for longer than the stale threshold of its tasks: exit ends it with SIGKILL, report logs it",
  },
  threads: {
    kind: "whole number",
    default: undefined,
    defaultInWords: "the cores this process may use",
    min: 1,
    max: 256,
    meaning: "How many threads run the tasks that block",
  },
  scheduler: {
    kind: "flag",
    default: true,
    meaning: "Whether the worker stores the schedules of its app and fires those that are due",
  },
  name: {
    kind: "text",
    default: undefined,
    defaultInWords: "host:pid",
    meaning: "The name of the worker in listings",
  },
} as const satisfies Fields;

const asInConfig = {
  default: undefined,
  defaultInWords: "that of workerRecovery",
} as const;

/** For this worker in place of the config's; any of them enables worker recovery. */
export const workerRecoveryOptionFields = {
  heartbeatIntervalMs: { ...workerRecoveryFields.heartbeatIntervalMs, ...asInConfig },
  sweepIntervalMs: { ...workerRecoveryFields.sweepIntervalMs, ...asInConfig },
  sweepThresholdMs: { ...workerRecoveryFields.sweepThresholdMs, ...asInConfig },
  recoveryDelayMs: { ...workerRecoveryFields.recoveryDelayMs, ...asInConfig },
} as const satisfies Fields;

/** All of them, in the order in which people read them. */
export const workerFields = {
  ...workerQueueFields,
  ...workerPlainFields,
  ...workerRecoveryOptionFields,
};

/** `maxClaimBatch`: `--max-claim-batch`. */
export function flagOf(name: string): string {
  return `--${words(name).join("-")}`;
}

/** `maxClaimBatch`: `POSTHASTE_MAX_CLAIM_BATCH`. */
export function variableOf(name: string): string {
  return ["posthaste", ...words(name)].join("_").toUpperCase();
}

function words(name: string): string[] {
  return name.split(/(?=[A-Z])/).map((word) => word.toLowerCase());
}
