import { describe, expect, test } from "vitest";
import { readConfig } from "./config.ts";
import { readWorkerOptions } from "./worker-options.ts";

const plain = readConfig({}, {}).config;
const configured = readConfig(
  { queues: { mail: { priority: 5 }, bulk: {}, alerts: { priority: 1 } } },
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
    concurrency: 8,
    shutdownGraceMs: 30_000,
    name: undefined,
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

test.each([
  ["concurrency", 1, 10_000],
  ["shutdownGraceMs", 0, 86_400_000],
])("%s goes from %i to %i", (name, least, most) => {
  expect(problemsOf({ [name]: least })).toEqual([]);
  expect(problemsOf({ [name]: most })).toEqual([]);
  for (const wrong of [least - 1, most + 1, 1.5, "3", null]) {
    expect(problemsOf({ [name]: wrong }).map(({ path }) => path)).toEqual([name]);
  }
});

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
