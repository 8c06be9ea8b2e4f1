/** Every field of `posthaste(config)`. field.ts lists its uses; rules.ts has the rules across fields. */
import type { Field } from "./field.ts";
import { recoveryFields, resilienceFields, workerRecoveryFields } from "./recovery-fields.ts";

export const LOWEST_PRIORITY = 100;
export const DEFAULT_QUEUE = "default";

const unbounded = Number.MAX_SAFE_INTEGER;

type Fields = Readonly<Record<string, Field>>;

export const databaseFields = {
  url: {
    kind: "text",
    default: undefined,
    defaultInWords: "DATABASE_URL, else embedded; in production DATABASE_URL",
    meaning:
      'Where PostgreSQL is. `database` may be this URL itself, or "embedded" for the server of `@posthaste/embedded`. Of ' +
      "several hosts (`postgres://one,two/app`) the first that accepts writes is taken",
  },
  sessionUrl: {
    kind: "text",
    default: undefined,
    defaultInWords: "the same as url",
    meaning: "A direct connection for LISTEN, when `url` leads to a transaction pooler",
  },
  poolSize: {
    kind: "whole number",
    default: 10,
    min: 1,
    max: 1_000,
    meaning: "How many connections `ctx.transaction` may use at once",
  },
  preparedStatements: {
    kind: "flag",
    default: undefined,
    defaultInWords: "on, except behind a pooler",
    meaning:
      "Whether statements are prepared; off for a transaction pooler that does not know them",
  },
} as const satisfies Fields;

export const queueFields = {
  priority: {
    kind: "whole number",
    default: LOWEST_PRIORITY,
    min: 1,
    max: LOWEST_PRIORITY,
    meaning:
      "Which queue is emptied first, and the priority of tasks that name none; lower is first",
  },
  maxConcurrency: {
    kind: "whole number",
    default: null,
    min: 1,
    max: unbounded,
    orNull: true,
    insteadOfZero: "to stop a queue, pause it",
    meaning: "How many tasks of the queue may run at once; to stop a queue, pause it",
  },
} as const satisfies Fields;

export const payloadFields = {
  warnBytes: {
    kind: "whole number",
    default: 1_048_576,
    min: 1,
    max: unbounded,
    orNull: true,
    meaning: "Inputs above this are logged, once for each task name; null: never",
  },
  rejectBytes: {
    kind: "whole number",
    default: null,
    min: 1,
    max: unbounded,
    orNull: true,
    meaning:
      "Inputs above this are refused, and results above it fail with WORKER_SERIALIZATION_ERROR; null: none",
  },
} as const satisfies Fields;

/** The fields that stand alone and need nothing but their own rule. */
export const plainFields = {
  autoMigrate: {
    kind: "flag",
    default: true,
    meaning: "Whether workers and the first send apply missing migrations; false: they only verify",
  },
  directStart: {
    kind: "flag",
    default: true,
    meaning:
      "Whether tasks that this app sends may start at once on a worker of the same app with a free slot; false: they wait in the queue for any worker",
  },
  clusterWideCap: {
    kind: "whole number",
    default: null,
    min: 1,
    max: unbounded,
    orNull: true,
    meaning: "How many tasks may run at once in all workers together",
    seedName: "cluster_wide_cap",
  },
  prefetchBuffer: {
    kind: "whole number",
    default: 0,
    min: 0,
    max: 100_000,
    meaning:
      "How many tasks a worker fetches beyond its free slots; 0: none, so that a claimed task always runs at once",
  },
  startAhead: {
    kind: "flag",
    default: false,
    meaning:
      'Whether prefetched tasks with `onCrash: "requeue"` are stored as RUNNING at once, so that they start without another round trip',
  },
  claimLeaseMs: {
    kind: "whole number",
    default: 60_000,
    min: 1_000,
    max: 86_400_000,
    meaning: "How long a claim of a task that was fetched ahead is good without a renewal",
  },
  unknownTasks: {
    kind: "choice",
    choices: ["wait", "fail"],
    default: "wait",
    meaning:
      "What a worker does with a task whose name it does not know: put it back in its place for a worker that knows it, or fail it",
  },
  unknownTaskGraceMs: {
    kind: "whole number",
    default: 300_000,
    min: 1_000,
    max: 604_800_000,
    meaning:
      "After how long in a served queue a task fails if no worker has ever had a handler for its name",
  },
} as const satisfies Fields;

export const schemaField = {
  kind: "text",
  default: "posthaste",
  meaning:
    "The schema that holds everything: a plain identifier, at most 48 characters, and none of PostgreSQL's own",
} as const satisfies Field;

/** Fields that are not numbers, flags or text, and have their own reader. */
export const specialFields = {
  tasks: {
    kind: "special",
    type: "list of tasks",
    default: undefined,
    meaning: "The tasks this app's workers can run; names are unique",
  },
  workflows: {
    kind: "special",
    type: "list of workflows",
    default: undefined,
    meaning: "The workflows this app starts; names are unique",
  },
  schedules: {
    kind: "special",
    type: "list of schedules",
    default: undefined,
    meaning: "The schedules that a starting worker stores; names are unique",
  },
  context: {
    kind: "special",
    type: "function",
    default: undefined,
    meaning: "Makes the `ctx.context` of handlers, once for each worker",
  },
  hooks: {
    kind: "special",
    type: "object of functions",
    default: undefined,
    meaning:
      "Functions that decide on recovered tasks, or are called after events: see guides/hooks.md",
  },
  file: {
    kind: "special",
    type: "file URL or absolute path",
    default: undefined,
    defaultInWords: "the file that calls `posthaste()`",
    meaning: "The file that makes the app: threads for blocking tasks load it again",
  },
  logger: {
    kind: "special",
    type: "logger",
    default: undefined,
    defaultInWords: "JSON lines to stderr, text on a terminal, level info",
    meaning: "Any object with pino's debug, info, warn and error",
  },
} as const satisfies Fields;

export interface DescribedField {
  /** `recovery.checkIntervalMs`; `*` stands for any name: `queues.*.priority`. */
  readonly path: string;
  readonly field: Field;
}

/** All of them, in the order in which people read them. */
export const configTable: readonly DescribedField[] = [
  ...inside("database", databaseFields),
  { path: "schema", field: schemaField },
  ...inside("", {
    autoMigrate: plainFields.autoMigrate,
    tasks: specialFields.tasks,
    workflows: specialFields.workflows,
    schedules: specialFields.schedules,
  }),
  ...inside("queues.*", queueFields),
  ...inside("", {
    directStart: plainFields.directStart,
    clusterWideCap: plainFields.clusterWideCap,
    prefetchBuffer: plainFields.prefetchBuffer,
    startAhead: plainFields.startAhead,
    claimLeaseMs: plainFields.claimLeaseMs,
    unknownTasks: plainFields.unknownTasks,
    unknownTaskGraceMs: plainFields.unknownTaskGraceMs,
  }),
  ...inside("recovery", recoveryFields),
  ...inside("workerRecovery", workerRecoveryFields),
  ...inside("resilience", resilienceFields),
  ...inside("payload", payloadFields),
  ...inside("", {
    context: specialFields.context,
    hooks: specialFields.hooks,
    file: specialFields.file,
    logger: specialFields.logger,
  }),
];

function inside(group: string, fields: Fields): DescribedField[] {
  return Object.entries(fields).map(([name, field]) => ({
    path: group === "" ? name : `${group}.${name}`,
    field,
  }));
}
