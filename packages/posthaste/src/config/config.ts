/** Reads the options of `posthaste()` by the table of app-fields.ts and the rules of rules.ts. */
import { hostUrls } from "../domain/connection-url.ts";
import type { Problem } from "../domain/errors.ts";
import { queueNameProblem } from "../domain/names.ts";
import { isRecord, OptionReader, shown } from "../domain/option-reader.ts";
import {
  configTable,
  databaseFields,
  payloadFields,
  plainFields,
  queueFields,
  schemaField,
} from "./app-fields.ts";
import { readFields, readGroup, valueAt, type ValuesOf } from "./field.ts";
import { recoveryFields, resilienceFields, workerRecoveryFields } from "./recovery-fields.ts";
import { configRules } from "./rules.ts";

export { DEFAULT_QUEUE, LOWEST_PRIORITY } from "./app-fields.ts";

export interface DatabaseConfig {
  readonly url: string;
  /** A direct connection for LISTEN, when `url` leads to a transaction pooler. */
  readonly sessionUrl: string;
  /** How many connections `ctx.transaction` may use at once. */
  readonly poolSize: number;
  /** Undefined: decided when connected. */
  readonly preparedStatements: boolean | undefined;
}

export type QueueConfig = ValuesOf<typeof queueFields>;
export type RecoveryConfig = ValuesOf<typeof recoveryFields>;
export type WorkerRecoveryConfig = ValuesOf<typeof workerRecoveryFields>;
export type ResilienceConfig = ValuesOf<typeof resilienceFields>;

export interface Config extends ValuesOf<typeof plainFields> {
  /** Undefined: the embedded server. */
  readonly database: DatabaseConfig | undefined;
  readonly schema: string;
  /** Queues that were configured; undefined when none were, and then there is only "default". */
  readonly queues: ReadonlyMap<string, QueueConfig> | undefined;
  readonly recovery: RecoveryConfig;
  readonly workerRecovery: WorkerRecoveryConfig;
  readonly resilience: ResilienceConfig;
  readonly payload: ValuesOf<typeof payloadFields>;
}

const knownFields = [...new Set(configTable.map(({ path }) => path.split(".", 1)[0] ?? path))];
/** For a URL with several hosts. With one host, an empty host means the local socket. */
const MISSING_HOST = /:\/\/(?:[^/?#]*@)?(?:[/?#:]|$)/;
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
    ...readFields(options, plainFields),
    queues: readQueues(options),
    recovery: readGroup(options, "recovery", recoveryFields),
    workerRecovery: readWorkerRecovery(options),
    resilience: readGroup(options, "resilience", resilienceFields),
    payload: readGroup(options, "payload", payloadFields),
  };
  return {
    config,
    problems: [...options.problems, ...brokenRules(config, given, options.problems)],
  };
}

function brokenRules(config: Config, given: unknown, found: readonly Problem[]): Problem[] {
  const isRefused = (path: string): boolean => found.some((problem) => problem.path === path);
  return configRules.flatMap(({ path, other, problem }) => {
    if (isRefused(path) || isRefused(other)) return [];
    const message = problem(config, (asked) => valueAt(given, asked.split(".")) !== undefined);
    return message === undefined ? [] : [{ path, message }];
  });
}

/** Any field enables the group, unless `enabled` is false. */
function readWorkerRecovery(options: OptionReader): WorkerRecoveryConfig {
  const read = readGroup(options, "workerRecovery", workerRecoveryFields);
  const given = options.value("workerRecovery");
  if (!isRecord(given) || given["enabled"] !== undefined) return read;
  const isMentioned = Object.keys(workerRecoveryFields).some((name) => given[name] !== undefined);
  return { ...read, enabled: isMentioned };
}

function readDatabase(options: OptionReader, environment: Environment): DatabaseConfig | undefined {
  const given = options.value("database") ?? environment.DATABASE_URL;
  if (given === undefined || given === "") {
    if (environment.NODE_ENV === "production") {
      options.complain(
        "database",
        "expected a database URL because NODE_ENV is production, found none; " +
          'set DATABASE_URL, or set database: "embedded" to use the embedded PostgreSQL anyway',
      );
    }
    return undefined;
  }
  if (given === "embedded") return undefined;
  if (typeof given === "string") {
    checkUrl(options, given, "database");
    return databaseAt(given);
  }
  const fields = readGroup(options, "database", databaseFields);
  const { url, sessionUrl = url, ...rest } = fields;
  if (url === undefined || sessionUrl === undefined) {
    if (isRecord(given) && given["url"] === undefined)
      options.complain("database.url", "expected a PostgreSQL URL, found nothing");
    return undefined;
  }
  checkUrl(options, url, "database.url");
  if (sessionUrl !== url) checkUrl(options, sessionUrl, "database.sessionUrl");
  return { url, sessionUrl, ...rest };
}

/** A database of which nothing but its URL is known. */
export function databaseAt(url: string): DatabaseConfig {
  const { poolSize, preparedStatements } = databaseFields;
  return {
    url,
    sessionUrl: url,
    poolSize: poolSize.default,
    preparedStatements: preparedStatements.default,
  };
}

function checkUrl(options: OptionReader, url: string, path: string): void {
  // The URL itself is not shown: it may hold a password.
  if (!/^postgres(ql)?:\/\/./.test(url)) {
    options.complain(path, "expected a URL that begins with postgres:// or postgresql://");
  } else if (hostUrls(url).length > 1 && hostUrls(url).some((each) => MISSING_HOST.test(each))) {
    options.complain(path, "expected a host before and after each comma, found none");
  }
}

function readSchema(options: OptionReader): string {
  const schema = options.text("schema") ?? schemaField.default;
  if (/^pg_|^information_schema$/.test(schema)) {
    options.complain(
      "schema",
      `expected a schema of your own; ${shown(schema)} belongs to PostgreSQL`,
    );
    return schemaField.default;
  }
  if (plainIdentifier.test(schema)) return schema;
  options.complain(
    "schema",
    `expected lower-case letters, digits and _, at most 48, not beginning with a digit; found ${shown(schema)}`,
  );
  return schemaField.default;
}

function readQueues(options: OptionReader): Config["queues"] {
  const given = options.value("queues");
  if (given === undefined) return undefined;
  if (!isRecord(given) || Object.keys(given).length === 0) {
    options.complain(
      "queues",
      "expected an object with at least one queue, { [name]: { priority?, maxConcurrency? } }",
    );
    return undefined;
  }
  const group = options.group("queues", Object.keys(given));
  return new Map(
    Object.keys(given).map((name) => {
      const problem = queueNameProblem(name);
      if (problem !== undefined) group.complain("", problem);
      return [name, readGroup(group, name, queueFields)];
    }),
  );
}
