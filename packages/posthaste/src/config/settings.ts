/** The config and a worker's options as they take effect: each field, its value, and where that came from. */
import { maskSecrets } from "../domain/connection-url.ts";
import { article } from "../domain/names.ts";
import { isRecord } from "../domain/option-reader.ts";
import { configTable, DEFAULT_QUEUE, queueFields } from "./app-fields.ts";
import type { Config, Environment } from "./config.ts";
import { defaultInWords, valueAt, type Field } from "./field.ts";
import { workerFields } from "./worker-options-fields.ts";
import type { WorkerSettings } from "./worker-options.ts";

export type Origin = "default" | "given" | "environment";

export interface Setting {
  readonly path: string;
  /** Secrets are masked. A value that is no constant is described in words. */
  readonly value: unknown;
  readonly origin: Origin;
}

/** Every field of the config. */
export function listConfigSettings(
  config: Config,
  given: unknown,
  environment: Environment,
): readonly Setting[] {
  const values = plainValues(config);
  return concreteFields(config).map(({ keys, field }) => {
    const own = valueAt(given, keys);
    const value =
      field.kind === "special" ? outline(own, field) : shownValue(valueAt(values, keys), field);
    const origin = own === undefined ? "default" : "given";
    return {
      path: keys.join("."),
      value,
      origin: keys[0] === "database" ? databaseOrigin(keys, given, environment) : origin,
    };
  });
}

/** Every option of a worker. */
export function listWorkerSettings(
  { queueRanks, queueCaps, workerRecovery, ...settings }: WorkerSettings,
  originOf: (option: string) => Origin,
): readonly Setting[] {
  const values = {
    ...settings,
    ...(workerRecovery.enabled ? workerRecovery : {}),
    queuePriorities: Object.fromEntries(queueRanks),
    queueMaxConcurrency: queueCaps.size === 0 ? null : Object.fromEntries(queueCaps),
  };
  return Object.entries(workerFields).map(([name, field]) => ({
    path: name,
    value: shownValue(valueAt(values, [name]), field),
    origin: originOf(name),
  }));
}

/** The effective options of a worker, as fields of one log line. */
export function effectiveConfig(
  config: Config,
  settings: WorkerSettings,
): Readonly<Record<string, unknown>> {
  const special = configTable.flatMap(({ path, field }) => (field.kind === "special" ? path : []));
  const rows = [
    // A worker's options may have enabled worker recovery, or changed it.
    ...listConfigSettings(
      { ...config, workerRecovery: settings.workerRecovery },
      undefined,
      {},
    ).filter(({ path }) => !special.includes(path)),
    ...listWorkerSettings(settings, () => "default").map((row) => ({
      ...row,
      path: `worker.${row.path}`,
    })),
  ];
  return Object.fromEntries(rows.map(({ path, value }) => [path, value]));
}

/** The log line with the limits of a worker. Its form is fixed: people search their logs for it. */
export function concurrencyLine({ clusterWideCap }: Config, settings: WorkerSettings): string {
  const { concurrency, maxClaimPerWorker, maxClaimBatch } = settings;
  return (
    `Concurrency config: concurrency=${concurrency}, cluster_wide_cap=${clusterWideCap ?? "none"}, ` +
    `max_claim_per_worker=${maxClaimPerWorker}, max_claim_batch=${maxClaimBatch}`
  );
}

/** One aligned line for each setting: path, value, origin. */
export function settingLines(settings: readonly Setting[]): string[] {
  const rows = settings.map(({ path, value, origin }) => [path, inWords(value), origin] as const);
  const [paths, values] = [0, 1].map((column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map(
    ([path, value, origin]) =>
      `${path.padEnd(paths ?? 0)}  ${value.padEnd(values ?? 0)}  ${origin}`,
  );
}

/** The config without maps and gaps. */
function plainValues(config: Config): object {
  const untold = {
    priority: queueFields.priority.default,
    maxConcurrency: queueFields.maxConcurrency.default,
  };
  return {
    ...config,
    database: config.database ?? { url: "embedded" },
    queues: Object.fromEntries(config.queues ?? [[DEFAULT_QUEUE, untold]]),
  };
}

interface ConcreteField {
  /** As keys, because the name of a queue may have a dot in it. */
  readonly keys: readonly string[];
  readonly field: Field;
}

/** The table with each queue's name in the place of the star. */
function concreteFields({ queues }: Config): ConcreteField[] {
  const names = [...(queues?.keys() ?? [DEFAULT_QUEUE])];
  const starred = configTable.filter(({ path }) => path.includes("*"));
  const ofQueue = (name: string): ConcreteField[] =>
    starred.map(({ path, field }) => ({
      keys: path.split(".").map((key) => (key === "*" ? name : key)),
      field,
    }));
  return configTable.flatMap((row) => {
    if (!starred.includes(row)) return [{ keys: row.path.split("."), field: row.field }];
    return row === starred[0] ? names.flatMap(ofQueue) : [];
  });
}

function databaseOrigin(
  keys: readonly string[],
  given: unknown,
  { DATABASE_URL }: Environment,
): Origin {
  const database = valueAt(given, ["database"]);
  const isUrl = keys[1] === "url";
  if (database === undefined) return isUrl && DATABASE_URL ? "environment" : "default";
  if (isRecord(database)) return valueAt(given, keys) === undefined ? "default" : "given";
  return isUrl ? "given" : "default";
}

function shownValue(value: unknown, field: Field): unknown {
  if (value === undefined) return field.default ?? defaultInWords(field);
  return typeof value === "string" ? maskSecrets(value) : value;
}

/** Arbitrary values are not shown. */
function outline(value: unknown, field: Field): string {
  if (value === undefined) return defaultInWords(field);
  return Array.isArray(value) ? `${value.length} listed` : article(value);
}

function inWords(value: unknown): string {
  if (value === null) return "none";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.join(", ");
  if (!isRecord(value)) return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, number]) => `${name}=${String(number)}`)
    .join(", ");
}
