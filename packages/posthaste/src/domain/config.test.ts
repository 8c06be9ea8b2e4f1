import { describe, expect, test } from "vitest";
import { readConfig } from "./config.ts";

const url = "postgres://ada:secret@db.example/app";

function problemsOf(given: unknown, environment: Parameters<typeof readConfig>[1] = {}) {
  return readConfig(given, environment).problems;
}

test("nothing given is the embedded server with the documented defaults", () => {
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

describe("the database", () => {
  const databaseOf = (given: unknown, environment: Parameters<typeof readConfig>[1] = {}) =>
    readConfig(given, environment).config.database;

  test("a URL is a direct connection; whether statements are prepared is decided later", () => {
    expect(databaseOf({ database: url })).toEqual({
      url,
      sessionUrl: url,
      poolSize: 10,
      preparedStatements: undefined,
    });
  });

  test("a pooler's URL and a direct one go together", () => {
    const database = {
      url,
      sessionUrl: "postgresql://direct.example/app",
      poolSize: 20,
      preparedStatements: false,
    };
    expect(readConfig({ database }, {})).toMatchObject({ config: { database }, problems: [] });
  });

  test("unset means DATABASE_URL, and what is given wins over it", () => {
    expect(databaseOf({}, { DATABASE_URL: url })?.url).toBe(url);
    expect(databaseOf({ database: "postgres://other" }, { DATABASE_URL: url })?.url).toBe(
      "postgres://other",
    );
    expect(databaseOf({ database: "embedded" }, { DATABASE_URL: url })).toBeUndefined();
  });

  test.each([undefined, ""])(
    "in production a database that is not given (DATABASE_URL %j) is a problem, so that nothing vanishes",
    (DATABASE_URL) => {
      const [problem, ...more] = problemsOf({}, { NODE_ENV: "production", DATABASE_URL });
      expect(problem).toMatchObject({ path: "database" });
      expect(problem?.message).toContain("NODE_ENV is production");
      expect(more).toEqual([]);
    },
  );

  test("in production the embedded server must be asked for by name", () => {
    expect(problemsOf({ database: "embedded" }, { NODE_ENV: "production" })).toEqual([]);
    expect(problemsOf({}, { NODE_ENV: "production", DATABASE_URL: url })).toEqual([]);
  });

  test.each([
    ["mysql://ada:secret@db/app", "database"],
    ["ada:secret@db/app", "database"],
    ["postgres://", "database"],
    [{ url: "host=db password=secret" }, "database.url"],
    [{ url, sessionUrl: "http://ada:secret@db" }, "database.sessionUrl"],
  ])("%j has the wrong form, and the message does not repeat it", (database, path) => {
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
  ])("%j is no database", (database, path) => {
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
  ])("%s goes from %i to %i", (path, least, most) => {
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

  test("null turns limits and retention off, and nothing else", () => {
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

  test("a number that may be null says so when it is neither", () => {
    expect(problemsOf({ recovery: { heartbeatRetentionHours: 0 } })).toEqual([
      {
        path: "recovery.heartbeatRetentionHours",
        message: "expected a whole number from 1 to 8760 or null, found 0",
      },
    ]);
  });

  test("unknownTasks is one of two words", () => {
    expect(readConfig({ unknownTasks: "fail" }, {}).config.unknownTasks).toBe("fail");
    expect(problemsOf({ unknownTasks: "ignore" })).toEqual([
      { path: "unknownTasks", message: 'expected "wait" or "fail", found "ignore"' },
    ]);
  });
});

describe("rules across fields", () => {
  test("a lease is at least two heartbeats long", () => {
    const recovery = { claimerHeartbeatIntervalMs: 2_000 };
    expect(problemsOf({ claimLeaseMs: 4_000, recovery })).toEqual([]);
    expect(problemsOf({ claimLeaseMs: 3_999, recovery })).toEqual([
      {
        path: "claimLeaseMs",
        message: "expected at least twice recovery.claimerHeartbeatIntervalMs (4000), found 3999",
      },
    ]);
  });

  test("who leaves the lease at its default is told so", () => {
    const recovery = { claimerHeartbeatIntervalMs: 31_000, claimedStaleThresholdMs: 200_000 };
    expect(problemsOf({ recovery })).toEqual([
      {
        path: "claimLeaseMs",
        message:
          "expected at least twice recovery.claimerHeartbeatIntervalMs (62000), found 60000, the default",
      },
    ]);
  });

  test("a rule is not asked while one of its fields is wrong by itself", () => {
    const recovery = { claimerHeartbeatIntervalMs: 5 };
    expect(problemsOf({ claimLeaseMs: 2_000, recovery }).map(({ path }) => path)).toEqual([
      "recovery.claimerHeartbeatIntervalMs",
    ]);
  });

  test("what is fetched ahead and a cap for the whole cluster do not go together", () => {
    expect(problemsOf({ clusterWideCap: 5, prefetchBuffer: 0 })).toEqual([]);
    expect(problemsOf({ clusterWideCap: null, prefetchBuffer: 3 })).toEqual([]);
    const [problem, ...more] = problemsOf({ clusterWideCap: 5, prefetchBuffer: 3 });
    expect(problem?.path).toBe("clusterWideCap");
    expect(problem?.message).toContain("leave out one of the two");
    expect(more).toEqual([]);
  });

  test("the longest pause is not shorter than the first", () => {
    const resilience = { dbRetryInitialMs: 2_000, dbRetryMaxMs: 1_999 };
    expect(problemsOf({ resilience }).map(({ path }) => path)).toEqual(["resilience.dbRetryMaxMs"]);
  });
});

describe("queues", () => {
  test("configured queues keep their order and take priority 100 unless they say another", () => {
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
    "%j are none",
    (queues) => expect(problemsOf({ queues })).toHaveLength(1),
  );

  test("a queue cannot be stopped by a cap of 0, and the message says how it is stopped", () => {
    expect(problemsOf({ queues: { mail: { maxConcurrency: 0 } } })).toEqual([
      {
        path: "queues.mail.maxConcurrency",
        message:
          "expected a whole number of at least 1 or null, found 0; to stop a queue, pause it",
      },
    ]);
  });

  test("a queue may be named like a property that every object has", () => {
    const { config, problems } = readConfig({ queues: { constructor: { priority: 7 } } }, {});
    expect(problems).toEqual([]);
    expect(config.queues?.get("constructor")).toMatchObject({ priority: 7 });
  });
});

test.each(["Posthaste", "1st", "a-b", "a b", 'a"b', "", "x".repeat(49)])(
  "%j is no name for a schema",
  (schema) => expect(problemsOf({ schema }).map(({ path }) => path)).toEqual(["schema"]),
);

test("an unknown field is named together with the nearest known one, on every level", () => {
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

test("all problems are reported at once", () => {
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
