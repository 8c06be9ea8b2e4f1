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
  type DecidedEdge,
  type TaskEdge,
} from "./task-lifecycle.ts";

const statuses = Object.values(TaskStatus);
const edges = Object.entries(taskLifecycle) as [
  TaskEdge,
  { readonly from: readonly TaskStatus[]; readonly to: TaskStatus; readonly isOperators?: true },
][];

describe("task lifecycle", () => {
  describe("taskLifecycle", () => {
    test("has the seven statuses of the specification, each reached by an edge", () => {
      expect(new Set(edges.map(([, { to }]) => to))).toEqual(new Set(statuses));
      expect(statuses).toHaveLength(7);
    });

    test("has the four terminal statuses of the specification", () => {
      expect([...TASK_TERMINAL_STATES].sort()).toEqual([
        "CANCELLED",
        "COMPLETED",
        "EXPIRED",
        "FAILED",
      ]);
    });

    test("has only an operator's edge from a terminal status, none from COMPLETED, and a way to the end from every other", () => {
      for (const status of statuses) {
        const leaving = edges.filter(([, { from }]) => from.includes(status));
        expect(leaving.every(([, { isOperators }]) => isOperators)).toBe(isTerminal(status));
        if (status === "COMPLETED") expect(leaving).toEqual([]);
        expect([...reachable(status)].some((reached) => isTerminal(reached))).toBe(true);
      }
    });

    test("creates a task by sending only", () => {
      expect(edges.filter(([, { from }]) => from.length === 0).map(([edge]) => edge)).toEqual([
        "send",
        "sendAndStart",
      ]);
    });

    test("leads to RUNNING only by edges that make or start a claim", () => {
      const starting = edges.filter(([, { to }]) => to === "RUNNING").map(([edge]) => edge);
      expect(starting.sort()).toEqual(["claimAndStart", "sendAndStart", "start"]);
    });

    test("never leads to EXPIRED after an attempt", () => {
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

  describe("settle after a handler has ended", () => {
    test("succeeds with a value", () => {
      expect(settle({ retry: policy, retryCount: 0 }, { ok: true, value: 5 }, 0)).toEqual({
        edge: "succeed",
        value: 5,
      });
    });

    test("retries a failure that may be retried", () => {
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
    ])("fails a failure %s", (_, retry, retryCount, code) => {
      const error = { code, message: "no" };
      expect(settle({ retry, retryCount }, { ok: false, error }, 0)).toEqual({
        edge: "fail",
        error,
      });
    });
  });

  describe("settle after the worker told the handler to stop", () => {
    const interrupted = { retry: policy, retryCount: 0, isInterrupted: true };

    test("requeues after any thrown error", () => {
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
    ])("settles %s as usual", (_, result, edge) => {
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

  describe("statusAfter", () => {
    const retry: DecidedEdge = { edge: "retry", error: busy, delayMs: 1_000 };

    test.each([
      [1_001, "PENDING"],
      [1_000, "FAILED"],
      [-5, "FAILED"],
      [null, "PENDING"],
    ])("of a retry in 1,000 ms with a deadline in %j ms is %s", (msUntilDeadline, status) => {
      expect(statusAfter(retry, { cancelRequested: false, msUntilDeadline })).toBe(status);
    });

    test("is CANCELLED whenever a cancellation was requested", () => {
      fc.assert(
        fc.property(attempts, results, facts, random, (attempt, result, fact, at) => {
          const settlement = settle(attempt, result, at);
          expect(statusAfter(settlement, { ...fact, cancelRequested: true })).toBe("CANCELLED");
        }),
      );
    });

    test("follows an edge from RUNNING; only retry and requeue return the task to its queue", () => {
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

    test("ends a task whose every attempt fails after one attempt and its retries", () => {
      fc.assert(
        fc.property(attempts, random, ({ retry: given }, at) => {
          let attemptCount = 0;
          let retryCount = 0;
          for (;;) {
            attemptCount++;
            const settlement = settle({ retry: given, retryCount }, { ok: false, error: busy }, at);
            if (settlement.edge !== "retry") break;
            retryCount++;
          }
          expect(attemptCount).toBe(1 + (given?.maxRetries ?? 0));
        }),
      );
    });
  });
});
