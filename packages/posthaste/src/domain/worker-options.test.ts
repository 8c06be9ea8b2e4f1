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

function planOf(given: unknown, config = plain) {
  const { plan, problems } = readWorkerOptions(given, config, 8);
  expect(problems).toEqual([]);
  return plan;
}

function problemsOf(given: unknown, config = plain) {
  return readWorkerOptions(given, config, 8).problems;
}

test("nothing given serves the default queue with one task for each core", () => {
  expect(planOf(undefined)).toEqual({
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
    onBlocked: "exit",
    name: undefined,
    workerRecovery: plain.workerRecovery,
  });
});

describe("queues", () => {
  test("all configured ones are served, the most urgent first", () => {
    expect(planOf({}, configured).queues).toEqual(["alerts", "mail", "bulk"]);
  });

  test("queuePriorities overrules the configured order", () => {
    const queuePriorities = { bulk: 1, alerts: 50 };
    expect(planOf({ queuePriorities }, configured).queues).toEqual(["bulk", "mail", "alerts"]);
  });

  test("queues of the same priority keep the order in which they were named", () => {
    expect(planOf({ queues: ["b", "a", "c"] }).queues).toEqual(["b", "a", "c"]);
  });

  test("a queue that is named twice is served once", () => {
    expect(planOf({ queues: ["a", "a"] }).queues).toEqual(["a"]);
  });

  test("without configured queues any may be named", () => {
    expect(planOf({ queues: ["elsewhere"] }).queues).toEqual(["elsewhere"]);
  });

  test("with configured queues an unknown one is a problem", () => {
    expect(problemsOf({ queues: ["mail", "male"] }, configured)).toEqual([
      { path: "queues", message: '"male" not configured; known are mail, bulk, alerts' },
    ]);
  });

  test.each([[[]], ["mail"], [[1]], [{}], [null]])("%j is no list of queues", (queues) =>
    expect(problemsOf({ queues }).map(({ path }) => path)).toEqual(["queues"]),
  );

  test("a queue whose name is none is a problem", () => {
    expect(problemsOf({ queues: ["no spaces"] }).map(({ path }) => path)).toEqual(["queues"]);
  });
});

describe("caps of queues", () => {
  test("are the configured ones, and those without a limit are left out", () => {
    expect([...planOf({}, configured).queueCaps]).toEqual([
      ["mail", 3],
      ["bulk", 2],
    ]);
  });

  test("of the worker's own options win", () => {
    const queueMaxConcurrency = { mail: 1, alerts: 4 };
    expect(planOf({ queueMaxConcurrency }, configured).queueCaps).toEqual(
      new Map([
        ["mail", 1],
        ["bulk", 2],
        ["alerts", 4],
      ]),
    );
  });

  test("are those of the queues that are served", () => {
    expect([...planOf({ queues: ["mail"] }, configured).queueCaps]).toEqual([["mail", 3]]);
  });

  test("are not 0, and the message says how a queue is stopped", () => {
    expect(problemsOf({ queueMaxConcurrency: { default: 0 } })).toEqual([
      {
        path: "queueMaxConcurrency.default",
        message: "expected a whole number of at least 1, found 0; to stop a queue, pause it",
      },
    ]);
  });
});

describe("how many are held at most", () => {
  const prefetching = readConfig({ prefetchBuffer: 5 }, {}).config;

  test.each([undefined, 0])("%s: what runs and what is fetched ahead", (maxClaimPerWorker) => {
    expect(planOf({ concurrency: 3, maxClaimPerWorker }, prefetching).maxClaimPerWorker).toBe(8);
  });

  test("what is given is taken", () => {
    expect(planOf({ concurrency: 3, maxClaimPerWorker: 2 }).maxClaimPerWorker).toBe(2);
  });
});

test("there are as many threads as cores, and no more than the most", () => {
  expect(readWorkerOptions({}, plain, 400).plan).toMatchObject({ concurrency: 400, threads: 256 });
  expect(planOf({ threads: 3 }).threads).toBe(3);
});

test("a level is one of four", () => {
  expect(planOf({ logLevel: "warn" }).logLevel).toBe("warn");
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
])("%s goes from %i to %i", (name, least, most) => {
  expect(problemsOf({ [name]: least })).toEqual([]);
  expect(problemsOf({ [name]: most })).toEqual([]);
  for (const wrong of [least - 1, beyond(most), 1.5, "3", null]) {
    expect(problemsOf({ [name]: wrong }).map(({ path }) => path)).toEqual([name]);
  }
});

/** The next whole number, or where there is none the next best thing. */
function beyond(most: number): number {
  return most === Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : most + 1;
}

test("every problem is reported, unknown names with the nearest known one", () => {
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

test.each([5, "x", null, [1]])("%j are no options", (given) =>
  expect(problemsOf(given)).toHaveLength(1),
);
