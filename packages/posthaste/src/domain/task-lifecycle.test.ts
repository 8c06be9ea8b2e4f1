import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RetryPolicy } from "./retry.ts";
import type { TaskResult } from "./result.ts";
import {
  isTerminal,
  settle,
  statusAfter,
  taskLifecycle,
  TASK_TERMINAL_STATES,
  TaskStatus,
  type Settlement,
  type TaskEdge,
} from "./task-lifecycle.ts";

const statuses = Object.values(TaskStatus);
const edges = Object.entries(taskLifecycle) as [
  TaskEdge,
  { readonly from: readonly TaskStatus[]; readonly to: TaskStatus },
][];

describe("the table of edges", () => {
  test("there are the seven statuses of the seed, each reached by an edge", () => {
    expect(new Set(edges.map(([, { to }]) => to))).toEqual(new Set(statuses));
    expect(statuses).toHaveLength(7);
  });

  test("the four terminal statuses are those of the seed", () => {
    expect([...TASK_TERMINAL_STATES].sort()).toEqual([
      "CANCELLED",
      "COMPLETED",
      "EXPIRED",
      "FAILED",
    ]);
  });

  test("no edge leaves a terminal status, and every other status has a way to the end", () => {
    for (const status of statuses) {
      const leaving = edges.filter(([, { from }]) => from.includes(status));
      expect(leaving.length === 0).toBe(isTerminal(status));
      expect([...reachable(status)].some((reached) => isTerminal(reached))).toBe(true);
    }
  });

  test("only sending makes a task", () => {
    expect(edges.filter(([, { from }]) => from.length === 0).map(([edge]) => edge)).toEqual([
      "send",
      "sendAndStart",
    ]);
  });

  test("a body runs only under a claim: nothing but what makes or starts one leads to RUNNING", () => {
    const starting = edges.filter(([, { to }]) => to === "RUNNING").map(([edge]) => edge);
    expect(starting.sort()).toEqual(["claimAndStart", "sendAndStart", "start"]);
  });

  test("a task that ran never ends EXPIRED", () => {
    expect(taskLifecycle.expire.from).not.toContain("RUNNING");
  });
});

function reachable(from: TaskStatus): Set<TaskStatus> {
  const seen = new Set<TaskStatus>([from]);
  for (const status of seen) {
    for (const [, edge] of edges) if (edge.from.includes(status)) seen.add(edge.to);
  }
  return seen;
}

const policy: RetryPolicy = {
  kind: "fixed",
  intervalsMs: [1_000, 2_000],
  retryFor: ["BUSY"],
  jitter: false,
};
const busy = { code: "BUSY", message: "later" };

describe("what happens when a body has ended", () => {
  test("a value succeeds", () => {
    expect(settle({ retry: policy, retryCount: 0 }, { ok: true, value: 5 }, 0)).toEqual({
      edge: "succeed",
      value: 5,
    });
  });

  test("a failure that may be retried waits for its turn", () => {
    expect(settle({ retry: policy, retryCount: 1 }, { ok: false, error: busy }, 0)).toEqual({
      edge: "retry",
      error: busy,
      delayMs: 2_000,
    });
  });

  test.each([
    ["without a policy", null, 0, "BUSY"],
    ["with its retries spent", policy, 2, "BUSY"],
    ["with a code that is not listed", policy, 0, "GONE"],
  ])("a failure %s is the end", (_, retry, retryCount, code) => {
    const error = { code, message: "no" };
    expect(settle({ retry, retryCount }, { ok: false, error }, 0)).toEqual({ edge: "fail", error });
  });
});

describe("when the worker had told the body to stop", () => {
  const interrupted = { retry: policy, retryCount: 0, isInterrupted: true };

  test("whatever it throws gives the attempt back", () => {
    const error = { code: "UNHANDLED_ERROR", message: "aborted" };
    expect(settle(interrupted, { ok: false, error }, 0)).toEqual({ edge: "requeue", error });
  });

  test.each([
    ["a value", { ok: true, value: 5 } as const, "succeed"],
    ["a failure of its own that may be retried", { ok: false, error: busy } as const, "retry"],
    [
      "a failure of its own that may not",
      { ok: false, error: { ...busy, code: "GONE" } } as const,
      "fail",
    ],
  ])("%s counts", (_, result, edge) => {
    expect(settle(interrupted, result, 0)).toMatchObject({ edge });
  });
});

const results: fc.Arbitrary<TaskResult<unknown>> = fc.oneof(
  fc.record({ ok: fc.constant(true as const), value: fc.jsonValue() }),
  fc.record({
    ok: fc.constant(false as const),
    error: fc.record({
      code: fc.constantFrom("BUSY", "GONE", "UNHANDLED_ERROR"),
      message: fc.string(),
    }),
  }),
);
const attempts = fc.record({
  retry: fc.option(
    fc.record({
      kind: fc.constant("exponential" as const),
      baseMs: fc.integer({ min: 1, max: 10_000 }),
      maxRetries: fc.integer({ min: 1, max: 5 }),
      retryFor: fc.constantFrom(["BUSY"], "any" as const),
      jitter: fc.boolean(),
    }),
  ),
  retryCount: fc.nat({ max: 6 }),
  isInterrupted: fc.boolean(),
});
const facts = fc.record({
  cancelRequested: fc.boolean(),
  msUntilDeadline: fc.option(fc.integer({ min: -10_000, max: 100_000 })),
});
const random = fc.double({ min: 0, max: 0.999, noNaN: true });

describe("where a settlement leads", () => {
  const retry: Settlement = { edge: "retry", error: busy, delayMs: 1_000 };

  test.each([
    [1_001, "PENDING"],
    [1_000, "FAILED"],
    [-5, "FAILED"],
    [null, "PENDING"],
  ])("a retry in 1,000 ms with a deadline in %j ms is %s", (msUntilDeadline, status) => {
    expect(statusAfter(retry, { cancelRequested: false, msUntilDeadline })).toBe(status);
  });

  test("a cancellation that was promised wins over everything", () => {
    fc.assert(
      fc.property(attempts, results, facts, random, (attempt, result, fact, at) => {
        const settlement = settle(attempt, result, at);
        expect(statusAfter(settlement, { ...fact, cancelRequested: true })).toBe("CANCELLED");
      }),
    );
  });

  test("it is always where an edge from RUNNING leads, and only a retry or an interrupted body goes back into the line", () => {
    fc.assert(
      fc.property(attempts, results, facts, random, (attempt, result, fact, at) => {
        const settlement = settle(attempt, result, at);
        const status = statusAfter(settlement, fact);
        expect(edges.some(([, { from, to }]) => from.includes("RUNNING") && to === status)).toBe(
          true,
        );
        if (!isTerminal(status)) expect(["retry", "requeue"]).toContain(settlement.edge);
        if (settlement.edge === "requeue") expect(attempt.isInterrupted).toBe(true);
        if (status === "COMPLETED") expect(result.ok).toBe(true);
      }),
    );
  });

  test("a task whose every attempt fails ends after one attempt and its retries", () => {
    fc.assert(
      fc.property(attempts, random, ({ retry: given }, at) => {
        let bodies = 0;
        let retryCount = 0;
        for (;;) {
          bodies++;
          const settlement = settle({ retry: given, retryCount }, { ok: false, error: busy }, at);
          if (settlement.edge !== "retry") break;
          retryCount++;
        }
        expect(bodies).toBe(1 + (given?.maxRetries ?? 0));
      }),
    );
  });
});
