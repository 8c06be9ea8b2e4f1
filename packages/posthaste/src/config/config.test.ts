import { describe, expect, test } from "vitest";
import { readConfig } from "./config.ts";

const url = "postgres://ada:secret@db.example/app";

function problemsOf(given: unknown, environment: Parameters<typeof readConfig>[1] = {}) {
  return readConfig(given, environment).problems;
}

describe("readConfig", () => {
  test("returns the embedded server and the documented defaults for undefined", () => {
    expect(readConfig(undefined, {})).toEqual({
      config: {
        database: undefined,
        schema: "posthaste",
        autoMigrate: true,
        queues: undefined,
        directStart: true,
        clusterWideCap: null,
        prefetchBuffer: 0,
        startAhead: false,
        claimLeaseMs: 60_000,
        unknownTasks: "wait",
        unknownTaskGraceMs: 300_000,
        recovery: {
          autoRequeueStaleClaimed: true,
          claimedStaleThresholdMs: 120_000,
          autoFailStaleRunning: true,
          runningStaleThresholdMs: 300_000,
          checkIntervalMs: 30_000,
          runnerHeartbeatIntervalMs: 30_000,
          claimerHeartbeatIntervalMs: 30_000,
          heartbeatRetentionHours: 24,
          workerStateRetentionHours: 168,
          rollupRetentionHours: 744,
          terminalRecordRetentionHours: 720,
          crashGraceMs: 5_000,
        },
        workerRecovery: expect.objectContaining({ enabled: false, sweepThresholdMs: 300_000 }),
        resilience: {
          dbRetryInitialMs: 500,
          dbRetryMaxMs: 30_000,
          dbRetryMaxAttempts: 0,
          notifyPollIntervalMs: 5_000,
        },
        payload: { warnBytes: 1_048_576, rejectBytes: null },
      },
      problems: [],
    });
  });

  describe("database", () => {
    const databaseOf = (given: unknown, environment: Parameters<typeof readConfig>[1] = {}) =>
      readConfig(given, environment).config.database;

    test("reads a URL as a direct connection and leaves preparedStatements open", () => {
      expect(databaseOf({ database: url })).toEqual({
        url,
        sessionUrl: url,
        poolSize: 10,
        preparedStatements: undefined,
      });
    });

    test("accepts a pooler's URL together with a direct one", () => {
      const database = {
        url,
        sessionUrl: "postgresql://direct.example/app",
        poolSize: 20,
        preparedStatements: false,
      };
      expect(readConfig({ database }, {})).toMatchObject({ config: { database }, problems: [] });
    });

    test("takes DATABASE_URL when unset, and prefers a given value", () => {
      expect(databaseOf({}, { DATABASE_URL: url })?.url).toBe(url);
      expect(databaseOf({ database: "postgres://other" }, { DATABASE_URL: url })?.url).toBe(
        "postgres://other",
      );
      expect(databaseOf({ database: "embedded" }, { DATABASE_URL: url })).toBeUndefined();
    });

    test.each([undefined, ""])(
      "refuses a missing database in production (DATABASE_URL %j)",
      (DATABASE_URL) => {
        const [problem, ...more] = problemsOf({}, { NODE_ENV: "production", DATABASE_URL });
        expect(problem).toMatchObject({ path: "database" });
        expect(problem?.message).toContain("NODE_ENV is production");
        expect(more).toEqual([]);
      },
    );

    test("requires the embedded server by name in production", () => {
      expect(problemsOf({ database: "embedded" }, { NODE_ENV: "production" })).toEqual([]);
      expect(problemsOf({}, { NODE_ENV: "production", DATABASE_URL: url })).toEqual([]);
    });

    test.each([
      ["mysql://ada:secret@db/app", "database"],
      ["ada:secret@db/app", "database"],
      ["postgres://", "database"],
      [{ url: "host=db password=secret" }, "database.url"],
      [{ url, sessionUrl: "http://ada:secret@db" }, "database.sessionUrl"],
    ])("reports the wrong form of %j without repeating it", (database, path) => {
      expect(problemsOf({ database })).toEqual([
        { path, message: "expected a URL that begins with postgres:// or postgresql://" },
      ]);
    });

    test.each([
      [{}, "database.url"],
      [{ url: 5 }, "database.url"],
      [5, "database"],
      [[url], "database"],
      [{ url, preparedStatements: 1 }, "database.preparedStatements"],
      [{ url, poolSize: 0 }, "database.poolSize"],
      [{ url, poolSize: 1_001 }, "database.poolSize"],
    ])("refuses %j as a database", (database, path) => {
      expect(problemsOf({ database }).map((problem) => problem.path)).toContain(path);
    });
  });

  describe("ranges", () => {
    test.each([
      ["clusterWideCap", 1, Number.MAX_SAFE_INTEGER],
      ["prefetchBuffer", 0, 100_000],
      ["claimLeaseMs", 60_000, 86_400_000],
      ["recovery.checkIntervalMs", 1_000, 600_000],
      ["recovery.runnerHeartbeatIntervalMs", 1_000, 120_000],
      ["recovery.claimerHeartbeatIntervalMs", 1_000, 30_000],
      ["recovery.crashGraceMs", 1_000, 600_000],
      ["resilience.dbRetryInitialMs", 100, 30_000],
      ["resilience.dbRetryMaxMs", 500, 300_000],
      ["resilience.dbRetryMaxAttempts", 0, 10_000],
      ["resilience.notifyPollIntervalMs", 1_000, 300_000],
      ["payload.warnBytes", 1, Number.MAX_SAFE_INTEGER],
      ["payload.rejectBytes", 1, Number.MAX_SAFE_INTEGER],
    ])("%s accepts %i to %i", (path, least, most) => {
      const [group = "", field] = path.split(".");
      const given = (value: unknown) => ({
        [group]: field === undefined ? value : { [field]: value },
      });
      expect(problemsOf(given(least))).toEqual([]);
      expect(problemsOf(given(most))).toEqual([]);
      for (const wrong of [least - 1, least + 0.5, String(least), Number.NaN]) {
        expect(problemsOf(given(wrong)).map((problem) => problem.path)).toContain(path);
      }
      if (most < Number.MAX_SAFE_INTEGER) {
        expect(problemsOf(given(most + 1))).not.toEqual([]);
      }
    });

    test("accepts null for limits and retention only", () => {
      const given = {
        clusterWideCap: null,
        payload: { warnBytes: null, rejectBytes: null },
        recovery: { heartbeatRetentionHours: null },
        queues: { mail: { maxConcurrency: null } },
      };
      const { config, problems } = readConfig(given, {});
      expect(problems).toEqual([]);
      expect(config).toMatchObject({
        ...given,
        queues: new Map(Object.entries({ mail: { priority: 100, maxConcurrency: null } })),
      });
      expect(problemsOf({ prefetchBuffer: null })).toHaveLength(1);
    });

    test("mentions null for a number that may be null", () => {
      expect(problemsOf({ recovery: { heartbeatRetentionHours: 0 } })).toEqual([
        {
          path: "recovery.heartbeatRetentionHours",
          message: "expected a whole number from 1 to 8760 or null, found 0",
        },
      ]);
    });

    test("unknownTasks accepts one of two words", () => {
      expect(readConfig({ unknownTasks: "fail" }, {}).config.unknownTasks).toBe("fail");
      expect(problemsOf({ unknownTasks: "ignore" })).toEqual([
        { path: "unknownTasks", message: 'expected "wait" or "fail", found "ignore"' },
      ]);
    });
  });

  describe("rules across fields", () => {
    test("requires a lease of at least two heartbeats", () => {
      const recovery = { claimerHeartbeatIntervalMs: 2_000 };
      expect(problemsOf({ claimLeaseMs: 4_000, recovery })).toEqual([]);
      expect(problemsOf({ claimLeaseMs: 3_999, recovery })).toEqual([
        {
          path: "claimLeaseMs",
          message: "expected at least twice recovery.claimerHeartbeatIntervalMs (4000), found 3999",
        },
      ]);
    });

    test("says so when the lease that breaks a rule is the default", () => {
      const recovery = { claimerHeartbeatIntervalMs: 31_000, claimedStaleThresholdMs: 200_000 };
      expect(problemsOf({ recovery })).toEqual([
        {
          path: "claimLeaseMs",
          message:
            "expected at least twice recovery.claimerHeartbeatIntervalMs (62000), found 60000, the default",
        },
      ]);
    });

    test("skips a rule when one of its fields is wrong by itself", () => {
      const recovery = { claimerHeartbeatIntervalMs: 5 };
      expect(problemsOf({ claimLeaseMs: 2_000, recovery }).map(({ path }) => path)).toEqual([
        "recovery.claimerHeartbeatIntervalMs",
      ]);
    });

    test("refuses prefetchBuffer together with clusterWideCap", () => {
      expect(problemsOf({ clusterWideCap: 5, prefetchBuffer: 0 })).toEqual([]);
      expect(problemsOf({ clusterWideCap: null, prefetchBuffer: 3 })).toEqual([]);
      const [problem, ...more] = problemsOf({ clusterWideCap: 5, prefetchBuffer: 3 });
      expect(problem?.path).toBe("clusterWideCap");
      expect(problem?.message).toContain("leave out one of the two");
      expect(more).toEqual([]);
    });

    test("requires the longest pause to be no shorter than the first", () => {
      const resilience = { dbRetryInitialMs: 2_000, dbRetryMaxMs: 1_999 };
      expect(problemsOf({ resilience }).map(({ path }) => path)).toEqual([
        "resilience.dbRetryMaxMs",
      ]);
    });
  });

  describe("queues", () => {
    test("keeps the order of queues and gives them priority 100 by default", () => {
      const { config, problems } = readConfig(
        { queues: { mail: { priority: 1, maxConcurrency: 5 }, bulk: {} } },
        {},
      );
      expect(problems).toEqual([]);
      expect([...(config.queues ?? [])]).toEqual([
        ["mail", { priority: 1, maxConcurrency: 5 }],
        ["bulk", { priority: 100, maxConcurrency: null }],
      ]);
    });

    test.each([{}, [], "mail", { "no spaces": {} }, { mail: { priority: 0 } }, { mail: 5 }])(
      "refuses %j as queues",
      (queues) => expect(problemsOf({ queues })).toHaveLength(1),
    );

    test("refuses a cap of 0 for a queue and says how to pause it", () => {
      expect(problemsOf({ queues: { mail: { maxConcurrency: 0 } } })).toEqual([
        {
          path: "queues.mail.maxConcurrency",
          message:
            "expected a whole number of at least 1 or null, found 0; to stop a queue, pause it",
        },
      ]);
    });

    test("accepts a queue with the name of an object property", () => {
      const { config, problems } = readConfig({ queues: { constructor: { priority: 7 } } }, {});
      expect(problems).toEqual([]);
      expect(config.queues?.get("constructor")).toMatchObject({ priority: 7 });
    });
  });

  test.each(["Posthaste", "1st", "a-b", "a b", 'a"b', "", "x".repeat(49)])(
    "refuses %j as a schema name",
    (schema) => expect(problemsOf({ schema }).map(({ path }) => path)).toEqual(["schema"]),
  );

  test("suggests the nearest known field for an unknown one, on every level", () => {
    const given = {
      databse: url,
      resilience: { dbRetryInitalMs: 500 },
      queues: { mail: { prioirty: 1 } },
    };
    expect(problemsOf(given)).toEqual([
      { path: "", message: 'unknown option "databse"; did you mean "database"?' },
      { path: "queues.mail", message: 'unknown option "prioirty"; did you mean "priority"?' },
      {
        path: "resilience",
        message: 'unknown option "dbRetryInitalMs"; did you mean "dbRetryInitialMs"?',
      },
    ]);
  });

  test("reports all problems at once", () => {
    const given = {
      database: "mysql://x",
      schema: "No",
      autoMigrate: "yes",
      prefetchBuffer: -1,
      payload: { rejectBytes: 0 },
    };
    expect(problemsOf(given).map(({ path }) => path)).toEqual([
      "database",
      "schema",
      "autoMigrate",
      "prefetchBuffer",
      "payload.rejectBytes",
    ]);
  });
});
