/** What `posthaste()` may be told, with every default, range and cross-rule. */
import type { Problem } from "./errors.ts";
import { queueNameProblem } from "./names.ts";
import { OptionReader, isRecord, shown } from "./option-reader.ts";

export interface DatabaseConfig {
  readonly url: string;
  /** A direct connection for LISTEN, when `url` leads to a transaction pooler. */
  readonly sessionUrl: string;
  readonly preparedStatements: boolean;
}

export interface Config {
  /** Undefined: the embedded server. */
  readonly database: DatabaseConfig | undefined;
  readonly schema: string;
  readonly autoMigrate: boolean;
  /** Queues that were configured; undefined when none were, and then there is only "default". */
  readonly queues: ReadonlyMap<string, { readonly priority: number }> | undefined;
  readonly prefetchBuffer: number;
  readonly claimLeaseMs: number;
  readonly recovery: RecoveryConfig;
  readonly resilience: ResilienceConfig;
  readonly payload: { readonly warnBytes: number | null; readonly rejectBytes: number | null };
}

export interface RecoveryConfig {
  /** How often the maintenance pass looks for tasks to expire. */
  readonly checkIntervalMs: number;
  readonly runnerHeartbeatIntervalMs: number;
  readonly claimerHeartbeatIntervalMs: number;
}

export interface ResilienceConfig {
  readonly dbRetryInitialMs: number;
  readonly dbRetryMaxMs: number;
  /** 0: for ever. */
  readonly dbRetryMaxAttempts: number;
  readonly notifyPollIntervalMs: number;
}

const knownFields = [
  "database",
  "schema",
  "autoMigrate",
  "tasks",
  "queues",
  "prefetchBuffer",
  "claimLeaseMs",
  "recovery",
  "resilience",
  "payload",
  "logger",
];

export const LOWEST_PRIORITY = 100;
export const DEFAULT_QUEUE = "default";
const priorityRange = { min: 1, max: LOWEST_PRIORITY };
const anyPositive = { min: 1, max: Number.MAX_SAFE_INTEGER };
const plainIdentifier = /^[a-z_][a-z0-9_]{0,47}$/;

/** The environment as far as it decides anything. */
export interface Environment {
  readonly DATABASE_URL?: string | undefined;
  readonly NODE_ENV?: string | undefined;
}

export function readConfig(
  given: unknown,
  environment: Environment,
): { readonly config: Config; readonly problems: readonly Problem[] } {
  const options = new OptionReader("", given, knownFields);
  const config: Config = {
    database: readDatabase(options, environment),
    schema: readSchema(options),
    autoMigrate: options.flag("autoMigrate", true),
    queues: readQueues(options),
    prefetchBuffer: options.integer("prefetchBuffer", { min: 0, max: 100_000 }, 0),
    claimLeaseMs: options.integer("claimLeaseMs", { min: 1_000, max: 86_400_000 }, 60_000),
    recovery: readRecovery(options),
    resilience: readResilience(options),
    payload: readPayload(options),
  };
  const leastLease = 2 * config.recovery.claimerHeartbeatIntervalMs;
  if (config.claimLeaseMs < leastLease) {
    options.complain(
      "claimLeaseMs",
      `expected at least twice recovery.claimerHeartbeatIntervalMs (${leastLease}), found ${config.claimLeaseMs}`,
    );
  }
  return { config, problems: options.problems };
}

function readDatabase(options: OptionReader, environment: Environment): DatabaseConfig | undefined {
  const given = options.value("database") ?? environment.DATABASE_URL;
  if (given === undefined || given === "") {
    if (environment.NODE_ENV === "production") {
      options.complain(
        "database",
        "expected a URL, because NODE_ENV is production and nothing may vanish into a throw-away database; " +
          'set DATABASE_URL, or say database: "embedded" if you mean it',
      );
    }
    return undefined;
  }
  if (given === "embedded") return undefined;
  if (typeof given === "string") return directDatabase(options, given, "database");
  const fields = options.group("database", ["url", "sessionUrl", "preparedStatements"]);
  const url = fields.text("url");
  if (url === undefined) {
    if (isRecord(given)) fields.complain("url", "expected a PostgreSQL URL, found nothing");
    return undefined;
  }
  const database = directDatabase(options, url, "database.url");
  const sessionUrl = fields.text("sessionUrl") ?? url;
  if (sessionUrl !== url) directDatabase(options, sessionUrl, "database.sessionUrl");
  return { ...database, sessionUrl, preparedStatements: fields.flag("preparedStatements", true) };
}

function directDatabase(options: OptionReader, url: string, path: string): DatabaseConfig {
  // The URL itself is not shown: it may hold a password.
  if (!/^postgres(ql)?:\/\/./.test(url)) {
    options.complain(path, "expected a URL that begins with postgres:// or postgresql://");
  }
  return { url, sessionUrl: url, preparedStatements: true };
}

function readSchema(options: OptionReader): string {
  const schema = options.text("schema") ?? "posthaste";
  if (plainIdentifier.test(schema)) return schema;
  options.complain(
    "schema",
    `expected lower-case letters, digits and _, at most 48, not beginning with a digit; found ${shown(schema)}`,
  );
  return "posthaste";
}

function readQueues(options: OptionReader): Config["queues"] {
  const given = options.value("queues");
  if (given === undefined) return undefined;
  if (!isRecord(given) || Object.keys(given).length === 0) {
    options.complain(
      "queues",
      "expected an object with at least one queue, { [name]: { priority? } }",
    );
    return undefined;
  }
  const group = options.group("queues", Object.keys(given));
  return new Map(
    Object.keys(given).map((name) => {
      const problem = queueNameProblem(name);
      if (problem !== undefined) group.complain("", problem);
      const queue = group.group(name, ["priority"]);
      return [name, { priority: queue.integer("priority", priorityRange, LOWEST_PRIORITY) }];
    }),
  );
}

function readRecovery(options: OptionReader): RecoveryConfig {
  const names = ["checkIntervalMs", "runnerHeartbeatIntervalMs", "claimerHeartbeatIntervalMs"];
  const group = options.group("recovery", names);
  const heartbeat = { min: 1_000, max: 120_000 };
  return {
    checkIntervalMs: group.integer("checkIntervalMs", { min: 1_000, max: 600_000 }, 30_000),
    runnerHeartbeatIntervalMs: group.integer("runnerHeartbeatIntervalMs", heartbeat, 30_000),
    claimerHeartbeatIntervalMs: group.integer("claimerHeartbeatIntervalMs", heartbeat, 30_000),
  };
}

function readResilience(options: OptionReader): ResilienceConfig {
  const names = ["dbRetryInitialMs", "dbRetryMaxMs", "dbRetryMaxAttempts", "notifyPollIntervalMs"];
  const group = options.group("resilience", names);
  const resilience = {
    dbRetryInitialMs: group.integer("dbRetryInitialMs", { min: 100, max: 60_000 }, 500),
    dbRetryMaxMs: group.integer("dbRetryMaxMs", { min: 500, max: 300_000 }, 30_000),
    dbRetryMaxAttempts: group.integer("dbRetryMaxAttempts", { min: 0, max: 10_000 }, 0),
    notifyPollIntervalMs: group.integer(
      "notifyPollIntervalMs",
      { min: 1_000, max: 300_000 },
      5_000,
    ),
  };
  if (resilience.dbRetryMaxMs < resilience.dbRetryInitialMs) {
    group.complain(
      "dbRetryMaxMs",
      `expected at least dbRetryInitialMs (${resilience.dbRetryInitialMs}), found ${resilience.dbRetryMaxMs}`,
    );
  }
  return resilience;
}

function readPayload(options: OptionReader): Config["payload"] {
  const group = options.group("payload", ["warnBytes", "rejectBytes"]);
  const warn = group.value("warnBytes") === null ? null : 1_048_576;
  return {
    warnBytes: group.integer("warnBytes", anyPositive, warn),
    rejectBytes: group.integer("rejectBytes", anyPositive, null),
  };
}
