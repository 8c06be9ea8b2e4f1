import { describe, expect, test } from "vitest";
import { readConfig } from "./config.ts";
import { readWorkerOptions } from "./worker-options.ts";

const plain = readConfig({}, {}).config;
const configured = readConfig(
  {
    queues: {
      mail: { priority: 5, maxConcurrency: 3 },
      bulk: { maxConcurrency: 2 },
      alerts: { priority: 1 },
    },
  },
  {},
).config;

function settingsOf(given: unknown, config = plain) {
  const { settings, problems } = readWorkerOptions(given, config, 8);
  expect(problems).toEqual([]);
  return settings;
}

function problemsOf(given: unknown, config = plain) {
  return readWorkerOptions(given, config, 8).problems;
}

describe("readWorkerOptions", () => {
  test("serves the default queue with one slot for each core by default", () => {
    expect(settingsOf(undefined)).toEqual({
      queues: ["default"],
      queueRanks: new Map([["default", 100]]),
      queueCaps: new Map(),
      concurrency: 8,
      maxClaimBatch: 0,
      maxClaimPerWorker: 8,
      coalesceNotifies: 100,
      logLevel: undefined,
      shutdownGraceMs: 30_000,
      threads: 8,
      scheduler: true,
      onBlocked: "exit",
      name: undefined,
      workerRecovery: plain.workerRecovery,
    });
  });

  describe("queues", () => {
    test("serves all configured queues by default, the most urgent first", () => {
      expect(settingsOf({}, configured).queues).toEqual(["alerts", "mail", "bulk"]);
    });

    test("prefers queuePriorities to the configured order", () => {
      const queuePriorities = { bulk: 1, alerts: 50 };
      expect(settingsOf({ queuePriorities }, configured).queues).toEqual([
        "bulk",
        "mail",
        "alerts",
      ]);
    });

    test("keeps the given order of queues of one priority", () => {
      expect(settingsOf({ queues: ["b", "a", "c"] }).queues).toEqual(["b", "a", "c"]);
    });

    test("serves a queue once that is named twice", () => {
      expect(settingsOf({ queues: ["a", "a"] }).queues).toEqual(["a"]);
    });

    test("accepts any queue when none are configured", () => {
      expect(settingsOf({ queues: ["elsewhere"] }).queues).toEqual(["elsewhere"]);
    });

    test("refuses an unknown queue when queues are configured", () => {
      expect(problemsOf({ queues: ["mail", "male"] }, configured)).toEqual([
        { path: "queues", message: '"male" not configured; known: mail, bulk, alerts' },
      ]);
    });

    test.each([[[]], ["mail"], [[1]], [{}], [null]])("refuses %j as a list of queues", (queues) =>
      expect(problemsOf({ queues }).map(({ path }) => path)).toEqual(["queues"]),
    );

    test("refuses an invalid queue name", () => {
      expect(problemsOf({ queues: ["no spaces"] }).map(({ path }) => path)).toEqual(["queues"]);
    });
  });

  describe("queue caps", () => {
    test("are the configured ones, without those that have no limit", () => {
      expect([...settingsOf({}, configured).queueCaps]).toEqual([
        ["mail", 3],
        ["bulk", 2],
      ]);
    });

    test("are overridden by the worker's own options", () => {
      const queueMaxConcurrency = { mail: 1, alerts: 4 };
      expect(settingsOf({ queueMaxConcurrency }, configured).queueCaps).toEqual(
        new Map([
          ["mail", 1],
          ["bulk", 2],
          ["alerts", 4],
        ]),
      );
    });

    test("include the served queues only", () => {
      expect([...settingsOf({ queues: ["mail"] }, configured).queueCaps]).toEqual([["mail", 3]]);
    });

    test("refuse 0 and say how to pause a queue", () => {
      expect(problemsOf({ queueMaxConcurrency: { default: 0 } })).toEqual([
        {
          path: "queueMaxConcurrency.default",
          message: "expected a whole number of at least 1, found 0; to stop a queue, pause it",
        },
      ]);
    });
  });

  describe("maxClaimPerWorker", () => {
    const prefetching = readConfig({ prefetchBuffer: 5 }, {}).config;

    test.each([undefined, 0])(
      "%s: defaults to the slots plus the prefetch buffer",
      (maxClaimPerWorker) => {
        expect(
          settingsOf({ concurrency: 3, maxClaimPerWorker }, prefetching).maxClaimPerWorker,
        ).toBe(8);
      },
    );

    test("is taken when given", () => {
      expect(settingsOf({ concurrency: 3, maxClaimPerWorker: 2 }).maxClaimPerWorker).toBe(2);
    });
  });

  test("sets as many threads as cores, up to the maximum", () => {
    expect(readWorkerOptions({}, plain, 400).settings).toMatchObject({
      concurrency: 400,
      threads: 256,
    });
    expect(settingsOf({ threads: 3 }).threads).toBe(3);
  });

  test("accepts one of four log levels", () => {
    expect(settingsOf({ logLevel: "warn" }).logLevel).toBe("warn");
    expect(problemsOf({ logLevel: "loud" })).toEqual([
      {
        path: "logLevel",
        message: 'expected "debug" or "info" or "warn" or "error", found "loud"',
      },
    ]);
  });

  test.each([
    ["concurrency", 1, 10_000],
    ["maxClaimBatch", 0, 100_000],
    ["maxClaimPerWorker", 0, 110_000],
    ["coalesceNotifies", 1, Number.MAX_SAFE_INTEGER],
    ["threads", 1, 256],
    ["shutdownGraceMs", 0, 86_400_000],
  ])("%s accepts %i to %i", (name, least, most) => {
    expect(problemsOf({ [name]: least })).toEqual([]);
    expect(problemsOf({ [name]: most })).toEqual([]);
    for (const wrong of [least - 1, beyond(most), 1.5, "3", null]) {
      expect(problemsOf({ [name]: wrong }).map(({ path }) => path)).toEqual([name]);
    }
  });

  /** The next whole number, or infinity where a number cannot hold it. */
  function beyond(most: number): number {
    return most === Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : most + 1;
  }

  test("reports every problem, unknown names with the nearest known one", () => {
    const given = { concurency: 5, queuePriorities: { defualt: 5, default: 0 }, name: 7 };
    expect(problemsOf(given)).toEqual([
      { path: "", message: 'unknown option "concurency"; did you mean "concurrency"?' },
      { path: "queuePriorities", message: 'unknown option "defualt"; did you mean "default"?' },
      {
        path: "queuePriorities.default",
        message: "expected a whole number from 1 to 100, found 0",
      },
      { path: "name", message: "expected a string, found 7" },
    ]);
  });

  test.each([5, "x", null, [1]])("refuses %j as options", (given) =>
    expect(problemsOf(given)).toHaveLength(1),
  );
});
