import { describe, expect, test } from "vitest";
import { retryProblems } from "../domain/retry-rules.ts";
import { exponential, fixed } from "./retry-policies.ts";

const YEAR_MS = 31_536_000_000;
const codes = ["BUSY", "WORKER_CRASHED"];
const pathsOf = (policy: unknown) => retryProblems(policy, codes).map(({ path }) => path);

describe("retry policies", () => {
  test("have jitter unless it is turned off", () => {
    expect(fixed({ intervalsMs: [1], retryFor: "any" }).jitter).toBe(true);
    expect(exponential({ baseMs: 1, maxRetries: 1, retryFor: "any", jitter: false }).jitter).toBe(
      false,
    );
  });

  describe("fixed", () => {
    test.each([[[0]], [[YEAR_MS]], [Array.from({ length: 20 }, (_, n) => n)]])(
      "accepts %j",
      (intervalsMs) => expect(pathsOf(fixed({ intervalsMs, retryFor: codes }))).toEqual([]),
    );

    test.each([[[]], [Array.from({ length: 21 }, () => 1)]])("refuses %j", (intervalsMs) =>
      expect(pathsOf(fixed({ intervalsMs, retryFor: codes }))).toEqual(["intervalsMs"]),
    );

    test("checks each delay", () => {
      const intervalsMs = [-1, 1.5, YEAR_MS + 1, Number.NaN, 5];
      expect(pathsOf(fixed({ intervalsMs, retryFor: codes }))).toEqual([
        "intervalsMs[0]",
        "intervalsMs[1]",
        "intervalsMs[2]",
        "intervalsMs[3]",
      ]);
    });
  });

  describe("exponential", () => {
    const make = (over: object) =>
      exponential({ baseMs: 10, maxRetries: 3, retryFor: "any", ...over });

    test.each([
      {},
      { baseMs: 1 },
      { baseMs: 86_400_000 },
      { maxRetries: 1 },
      { maxRetries: 1000 },
      { maxDelayMs: 10 },
      { maxDelayMs: YEAR_MS },
      { maxDelayMs: undefined },
    ])("accepts %j", (over) => expect(pathsOf(make(over))).toEqual([]));

    test.each([
      ["baseMs", 0],
      ["baseMs", 86_400_001],
      ["baseMs", "1s"],
      ["baseMs", undefined],
      ["maxRetries", 0],
      ["maxRetries", 1001],
      ["maxRetries", Number.POSITIVE_INFINITY],
      ["maxDelayMs", 9],
      ["maxDelayMs", YEAR_MS + 1],
      ["jitter", 0.5],
      ["retryFor", []],
      ["retryFor", "ANY"],
      ["retryFor", undefined],
      ["retryFor[0]", ["busy"]],
      ["retryFor[1]", ["BUSY", "GONE"]],
    ])("refuses %s: %j", (path, value) => {
      const option = path.replace(/\[.*/, "");
      expect(pathsOf(make({ [option]: value }))).toEqual([path]);
    });

    test("gives a hint for an exception class in retryFor", () => {
      const [problem] = retryProblems(make({ retryFor: ["TimeoutError"] }), codes);
      expect(problem?.message).toContain("what a handler throws is UNHANDLED_ERROR");
    });

    test("names an unknown option", () => {
      const [problem] = retryProblems(make({ maxRetires: 3 }), codes);
      expect(problem?.message).toBe('unknown option "maxRetires"; did you mean "maxRetries"?');
    });
  });

  test.each([undefined, null, "any", 3, [], {}, { kind: "linear" }])(
    "retryProblems refuses %j",
    (policy) => expect(pathsOf(policy)).toEqual([""]),
  );
});
