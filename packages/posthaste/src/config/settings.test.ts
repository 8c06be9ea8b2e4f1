import { describe, expect, test } from "vitest";
import { configTable } from "./app-fields.ts";
import {
  concurrencyLine,
  listConfigSettings,
  effectiveConfig,
  settingLines,
  listWorkerSettings,
} from "./settings.ts";
import { readConfig, type Environment } from "./config.ts";
import { readWorkerOptions } from "./worker-options.ts";
import { workerFields } from "./worker-options-fields.ts";

const url = "postgres://ada:canary-4711@db.example/app";

function settingsOf(given: unknown, environment: Environment = {}) {
  const { config, problems } = readConfig(given, environment);
  expect(problems).toEqual([]);
  const rows = listConfigSettings(config, given, environment);
  return Object.fromEntries(rows.map(({ path, value, origin }) => [path, [value, origin]]));
}

function workerOf(options: object, given: unknown = {}) {
  const { config } = readConfig(given, {});
  return { config, settings: readWorkerOptions(options, config, 8).settings };
}

describe("config settings", () => {
  test("list every field of the config, given or not", () => {
    const paths = configTable.map(({ path }) => path.replace("*", "default"));
    expect(Object.keys(settingsOf({}))).toEqual(paths);
    expect(Object.values(settingsOf({})).every(([, origin]) => origin === "default")).toBe(true);
  });

  test("tell given fields from defaults, inside groups too", () => {
    expect(
      settingsOf({ schema: "tasks", recovery: { checkIntervalMs: 5_000 }, clusterWideCap: null }),
    ).toMatchObject({
      schema: ["tasks", "given"],
      "recovery.checkIntervalMs": [5_000, "given"],
      "recovery.crashGraceMs": [5_000, "default"],
      clusterWideCap: [null, "given"],
      autoMigrate: [true, "default"],
    });
  });

  describe("database", () => {
    test("is embedded by default", () => {
      expect(settingsOf({})).toMatchObject({
        "database.url": ["embedded", "default"],
        "database.sessionUrl": ["the same as url", "default"],
        "database.poolSize": [10, "default"],
        "database.preparedStatements": ["on, except behind a pooler", "default"],
      });
      expect(settingsOf({ database: "embedded" })["database.url"]).toEqual(["embedded", "given"]);
    });

    test("comes from the environment or the config, and its password is never shown", () => {
      const masked = "postgres://ada:***@db.example/app";
      const fromEnvironment = settingsOf({}, { DATABASE_URL: url });
      expect(fromEnvironment["database.url"]).toEqual([masked, "environment"]);
      expect(fromEnvironment["database.sessionUrl"]).toEqual([masked, "default"]);
      const asText = settingsOf({ database: url }, { DATABASE_URL: "postgres://other" });
      expect(asText["database.url"]).toEqual([masked, "given"]);
      const asObject = settingsOf({ database: { url, sessionUrl: url, poolSize: 3 } });
      expect(asObject).toMatchObject({
        "database.url": [masked, "given"],
        "database.sessionUrl": [masked, "given"],
        "database.poolSize": [3, "given"],
        "database.preparedStatements": ["on, except behind a pooler", "default"],
      });
      expect(JSON.stringify([fromEnvironment, asText, asObject])).not.toContain("canary");
    });
  });

  test("list the fields of each queue, also of one with a dot in its name", () => {
    const settings = settingsOf({
      queues: { "mail.bulk": { priority: 7 }, alerts: { maxConcurrency: 2 } },
    });
    expect(settings).toMatchObject({
      "queues.mail.bulk.priority": [7, "given"],
      "queues.mail.bulk.maxConcurrency": [null, "default"],
      "queues.alerts.priority": [100, "default"],
      "queues.alerts.maxConcurrency": [2, "given"],
    });
    expect(Object.keys(settings).filter((path) => path.startsWith("queues."))).toHaveLength(4);
  });

  test("list tasks by their number, functions and objects by their kind", () => {
    const given = { tasks: [1, 2], context: () => "secret", logger: { info: "secret" } };
    expect(settingsOf(given)).toMatchObject({
      tasks: ["2 listed", "given"],
      context: ["a function", "given"],
      logger: ["an object", "given"],
    });
  });

  test("list every option of a worker, resolved", () => {
    const { settings } = workerOf({
      concurrency: 3,
      queues: ["b", "a"],
      queueMaxConcurrency: { a: 2 },
    });
    const rows = listWorkerSettings(settings, (name) =>
      name === "queues" ? "environment" : "default",
    );
    expect(rows.map(({ path }) => path)).toEqual(Object.keys(workerFields));
    expect(rows).toContainEqual({ path: "maxClaimPerWorker", value: 3, origin: "default" });
    expect(rows).toContainEqual({ path: "queues", value: ["b", "a"], origin: "environment" });
    expect(rows).toContainEqual({
      path: "queueMaxConcurrency",
      value: { a: 2 },
      origin: "default",
    });
    expect(rows).toContainEqual({
      path: "logLevel",
      value: "the logger's own",
      origin: "default",
    });
  });

  test("show a worker's own recovery options in their place when recovery is on", () => {
    const shownOf = (options: object, given?: object) =>
      listWorkerSettings(workerOf(options, given).settings, () => "default").filter(({ path }) =>
        path.startsWith("sweep"),
      );
    const [interval, threshold] = ["sweepIntervalMs", "sweepThresholdMs"];
    const ofConfig = "that of workerRecovery";
    expect(shownOf({})).toMatchObject([
      { path: interval, value: ofConfig },
      { path: threshold, value: ofConfig },
    ]);
    expect(shownOf({ sweepThresholdMs: 90_000 })).toMatchObject([
      { path: interval, value: 60_000 },
      { path: threshold, value: 90_000 },
    ]);
  });

  test("effectiveConfig is one flat object without secrets", () => {
    const { config, settings } = workerOf(
      { maxClaimBatch: 4 },
      { database: url, clusterWideCap: 9 },
    );
    const effective = effectiveConfig(config, settings);
    expect(effective).toMatchObject({
      "database.url": "postgres://ada:***@db.example/app",
      clusterWideCap: 9,
      "recovery.crashGraceMs": 5_000,
      "worker.concurrency": 8,
      "worker.maxClaimBatch": 4,
    });
    expect(Object.keys(effective)).not.toContain("logger");
    expect(JSON.stringify(effective)).not.toContain("canary");
  });

  describe("concurrencyLine", () => {
    test("says none without a cap", () => {
      const { config, settings } = workerOf({ concurrency: 8 });
      expect(concurrencyLine(config, settings)).toBe(
        "Concurrency config: concurrency=8, cluster_wide_cap=none, max_claim_per_worker=8, max_claim_batch=0",
      );
    });

    test("states every given figure", () => {
      const { config, settings } = workerOf(
        { concurrency: 5, maxClaimBatch: 3, maxClaimPerWorker: 4 },
        { clusterWideCap: 20 },
      );
      expect(concurrencyLine(config, settings)).toBe(
        "Concurrency config: concurrency=5, cluster_wide_cap=20, max_claim_per_worker=4, max_claim_batch=3",
      );
    });
  });

  test("settingLines aligns the lines and puts every value in words", () => {
    expect(
      settingLines([
        { path: "a", value: null, origin: "default" },
        { path: "longer", value: ["x", "y"], origin: "given" },
        { path: "b", value: { mail: 1, bulk: 50 }, origin: "environment" },
      ]),
    ).toEqual([
      "a       none             default",
      "longer  x, y             given",
      "b       mail=1, bulk=50  environment",
    ]);
  });
});
