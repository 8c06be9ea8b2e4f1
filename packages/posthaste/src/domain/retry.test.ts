import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exponential, fixed } from "../define/retry-policies.ts";
import { maxRetries, mayRetry, parseRetryPolicy, retryDelayMs, type RetryPolicy } from "./retry.ts";

const YEAR_MS = 31_536_000_000;
/** The largest number that Math.random() gives. */
const ALMOST_ONE = 1 - 2 ** -53;
const random = fc.double({ min: 0, max: ALMOST_ONE, noNaN: true });

const policies: fc.Arbitrary<RetryPolicy> = fc.oneof(
  fc.record({
    kind: fc.constant("fixed" as const),
    intervalsMs: fc.array(fc.integer({ min: 0, max: YEAR_MS }), { minLength: 1, maxLength: 20 }),
    retryFor: fc.constant("any" as const),
    jitter: fc.boolean(),
  }),
  fc.record(
    {
      kind: fc.constant("exponential" as const),
      baseMs: fc.integer({ min: 1, max: 86_400_000 }),
      maxRetries: fc.integer({ min: 1, max: 1_000 }),
      maxDelayMs: fc.integer({ min: 86_400_000, max: YEAR_MS }),
      retryFor: fc.array(fc.constantFrom("BUSY", "WORKER_CRASHED"), { minLength: 1 }),
      jitter: fc.boolean(),
    },
    { requiredKeys: ["kind", "baseMs", "maxRetries", "retryFor", "jitter"] },
  ),
);

describe("retry", () => {
  describe("retryDelayMs", () => {
    const steady = { retryFor: "any", jitter: false } as const;

    test("follows the listed intervals of a fixed policy", () => {
      const policy = fixed({ intervalsMs: [10, 0, 500], ...steady });
      expect([0, 1, 2].map((spent) => retryDelayMs(policy, spent, 0.3))).toEqual([10, 0, 500]);
    });

    test("doubles up to the cap of an exponential policy", () => {
      const policy = exponential({ baseMs: 100, maxRetries: 9, maxDelayMs: 1_000, ...steady });
      expect([0, 1, 2, 3, 4, 8].map((spent) => retryDelayMs(policy, spent, 0))).toEqual([
        100, 200, 400, 800, 1_000, 1_000,
      ]);
    });

    test("has jitter from 25 % less to 25 % more", () => {
      const policy = fixed({ intervalsMs: [1_000], retryFor: "any" });
      expect([0, 0.5, ALMOST_ONE].map((at) => retryDelayMs(policy, 0, at))).toEqual([
        750, 1_000, 1_250,
      ]);
    });

    test("stays below the cap with jitter", () => {
      const policy = exponential({
        baseMs: 1_000,
        maxRetries: 3,
        maxDelayMs: 1_000,
        retryFor: "any",
      });
      expect(retryDelayMs(policy, 2, ALMOST_ONE)).toBe(1_000);
    });

    test("is whole milliseconds from 0 to a year, near the policy's delay, for every policy", () => {
      fc.assert(
        fc.property(policies, fc.nat({ max: 999 }), random, (policy, spent, at) => {
          const delay = retryDelayMs(policy, spent, at);
          const plain = retryDelayMs({ ...policy, jitter: false }, spent, at);
          expect(Number.isInteger(delay)).toBe(true);
          expect(delay).toBeGreaterThanOrEqual(Math.floor(plain * 0.75));
          expect(delay).toBeLessThanOrEqual(Math.min(Math.ceil(plain * 1.25), YEAR_MS));
        }),
      );
    });
  });

  describe("mayRetry and maxRetries", () => {
    test("count one retry for each fixed interval, or the number of an exponential policy", () => {
      expect(maxRetries(fixed({ intervalsMs: [1, 2, 3], retryFor: "any" }))).toBe(3);
      expect(maxRetries(exponential({ baseMs: 1, maxRetries: 7, retryFor: "any" }))).toBe(7);
    });

    test("allow no retry when the retries are spent", () => {
      const policy = fixed({ intervalsMs: [1, 1], retryFor: ["BUSY"] });
      expect([0, 1, 2, 3].map((spent) => mayRetry(policy, spent, "BUSY"))).toEqual([
        true,
        true,
        false,
        false,
      ]);
    });

    test("allow the listed codes only", () => {
      const policy = fixed({ intervalsMs: [1], retryFor: ["BUSY"] });
      expect(mayRetry(policy, 0, "GONE")).toBe(false);
      expect(mayRetry(policy, 0, "UNHANDLED_ERROR")).toBe(false);
    });

    test.each(["BUSY", "UNHANDLED_ERROR", "WORKER_CRASHED", "TASK_TIMEOUT"])(
      'allow %s under "any"',
      (code) => expect(mayRetry(fixed({ intervalsMs: [1], retryFor: "any" }), 0, code)).toBe(true),
    );

    test.each([
      "WORKER_SERIALIZATION_ERROR",
      "WORKER_RESOLUTION_ERROR",
      "ARGUMENT_TYPE_MISMATCH",
      "RETURN_TYPE_MISMATCH",
    ] as const)('allow %s only when it is listed: "any" leaves it out', (code) => {
      expect(mayRetry(fixed({ intervalsMs: [1], retryFor: "any" }), 0, code)).toBe(false);
      expect(mayRetry(fixed({ intervalsMs: [1], retryFor: [code] }), 0, code)).toBe(true);
    });
  });

  describe("parseRetryPolicy", () => {
    test("reads every stored policy back unchanged", () => {
      fc.assert(
        fc.property(policies, (policy) => {
          expect(parseRetryPolicy(JSON.parse(JSON.stringify(policy)))).toEqual(policy);
        }),
      );
    });

    test("turns jitter on when it is not given", () => {
      const stored = { kind: "fixed", intervalsMs: [5], retryFor: "any" };
      expect(parseRetryPolicy(stored)).toEqual({ ...stored, jitter: true });
    });

    test.each([
      null,
      undefined,
      7,
      "any",
      [],
      {},
      { kind: "fixed", retryFor: "any" },
      { kind: "fixed", retryFor: "any", intervalsMs: [] },
      { kind: "fixed", retryFor: "any", intervalsMs: [-1] },
      { kind: "fixed", retryFor: "any", intervalsMs: ["1"] },
      { kind: "fixed", retryFor: "some", intervalsMs: [1] },
      { kind: "fixed", retryFor: [1], intervalsMs: [1] },
      { kind: "exponential", retryFor: "any", baseMs: 1 },
      { kind: "exponential", retryFor: "any", maxRetries: 1 },
      { kind: "linear", retryFor: "any", baseMs: 1, maxRetries: 1 },
    ])("refuses %j, perhaps from SQL", (stored) => expect(parseRetryPolicy(stored)).toBeNull());

    test("returns a policy or none for any other JSON, and never throws", () => {
      fc.assert(
        fc.property(fc.jsonValue(), (stored) => {
          const policy = parseRetryPolicy(stored);
          expect(policy === null || mayRetry(policy, 0, "BUSY") === maxRetries(policy) > 0).toBe(
            true,
          );
        }),
      );
    });
  });
});
