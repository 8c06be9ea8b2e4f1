/** The options of `posthaste()` and `app.worker()`: the names of the tables that read them, and no others. */
import type {
  databaseFields,
  payloadFields,
  plainFields,
  queueFields,
  specialFields,
} from "../../src/config/app-fields.ts";
import type {
  recoveryFields,
  resilienceFields,
  workerRecoveryFields,
} from "../../src/config/recovery-fields.ts";
import type { Config } from "../../src/config/config.ts";
import type { workerFields } from "../../src/config/worker-options-fields.ts";
import type { WorkerSettings } from "../../src/config/worker-options.ts";
import {
  posthaste,
  type AppConfig,
  type QueueOptions,
  type RecoveryOptions,
  type ResilienceOptions,
  type WorkerOptions,
  type WorkerRecoveryOptions,
} from "../../src/index.ts";
import { expectType } from "./expect-type.ts";

// Every field of the table can be given, and nothing that the table does not have.
type Given<Name extends keyof AppConfig> = keyof Exclude<NonNullable<AppConfig[Name]>, string>;
type Group =
  | "database"
  | "schema"
  | "queues"
  | "recovery"
  | "workerRecovery"
  | "resilience"
  | "payload";
expectType<keyof typeof plainFields | keyof typeof specialFields | Group>().is<keyof AppConfig>();
expectType<keyof typeof databaseFields>().is<Given<"database">>();
expectType<keyof typeof queueFields>().is<keyof QueueOptions>();
expectType<keyof typeof recoveryFields>().is<keyof RecoveryOptions>();
expectType<keyof typeof workerRecoveryFields>().is<keyof WorkerRecoveryOptions>();
expectType<keyof typeof resilienceFields>().is<keyof ResilienceOptions>();
expectType<keyof typeof payloadFields>().is<Given<"payload">>();
expectType<keyof typeof workerFields>().is<keyof WorkerOptions>();

// The values read have the types of the table.
expectType<number | null>().is<Config["clusterWideCap"]>();
expectType<number>().is<Config["prefetchBuffer"]>();
expectType<"wait" | "fail">().is<Config["unknownTasks"]>();
expectType<number | null>().is<Config["recovery"]["heartbeatRetentionHours"]>();
expectType<number>().is<Config["recovery"]["crashGraceMs"]>();
expectType<readonly string[]>().is<Config["workerRecovery"]["resilientTaskFlags"]>();
expectType<number>().is<WorkerSettings["workerRecovery"]["sweepThresholdMs"]>();
expectType<boolean>().is<Config["recovery"]["autoFailStaleRunning"]>();
expectType<boolean | undefined>().is<NonNullable<Config["database"]>["preparedStatements"]>();
expectType<"debug" | "info" | "warn" | "error" | undefined>().is<WorkerSettings["logLevel"]>();

const app = posthaste({
  clusterWideCap: null,
  queues: { mail: { priority: 1, maxConcurrency: 5 } },
  workerRecovery: { sweepThresholdMs: 60_000, resilientTaskFlags: ["slow"] },
  recovery: { terminalRecordRetentionHours: null },
  database: { url: "postgres://db/app", poolSize: 5 },
  context: () => ({ mailer: "smtp" }),
});
app.worker({ queueMaxConcurrency: { mail: 2 }, logLevel: "warn", threads: 2 });

// @ts-expect-error a misspelt name
posthaste({ clusterwideCap: 5 });
// @ts-expect-error only retention may be null
posthaste({ recovery: { checkIntervalMs: null } });
// @ts-expect-error a list of names
posthaste({ workerRecovery: { resilientTaskFlags: "slow" } });
// @ts-expect-error the multiplier is the config's alone
app.worker({ resilientSweepThresholdMultiplier: 3 });
// @ts-expect-error neither of the two words
posthaste({ unknownTasks: "ignore" });
// @ts-expect-error a context is made by a function
posthaste({ context: { mailer: "smtp" } });
// @ts-expect-error a database that is described has a URL
posthaste({ database: { poolSize: 5 } });
// @ts-expect-error no such level
app.worker({ logLevel: "loud" });
// @ts-expect-error one number for each queue
app.worker({ queueMaxConcurrency: 5 });

// Loggers of other shapes: any four methods that take fields and a text.
const write = (_fields: unknown, _text: unknown): void => undefined;
posthaste({ logger: { debug: write, info: write, warn: write, error: write } });
posthaste({ logger: console });
// @ts-expect-error a logger without error
posthaste({ logger: { debug: write, info: write, warn: write } });
