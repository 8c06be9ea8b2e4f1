import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PosthasteError } from "../domain/errors.ts";
import { isRepeatable, repeatSafely } from "./repeat-safely.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function pgError(code: string, message = "no"): Error {
  return Object.assign(new Error(message), { code });
}

describe("repeatSafely", () => {
  test.each([
    ["a server that shuts down", pgError("57P01")],
    ["a connection that broke", pgError("08006")],
    ["a refused connection", pgError("ECONNREFUSED")],
    ["a deadlock", pgError("40P01")],
    ["a serialization failure", pgError("40001")],
    ["a statement timeout", pgError("57014")],
    ["a plan that no longer fits", pgError("0A000", "cached plan must not change result type")],
    ["a link that ended", new Error("Connection terminated unexpectedly")],
    ["a database that cannot be reached", new PosthasteError("DATABASE_UNAVAILABLE", "no")],
  ])("isRepeatable is true for %s", (_, error) => expect(isRepeatable(error)).toBe(true));

  test.each([
    ["a unique violation", pgError("23505")],
    ["a refused row", pgError("23514", "Connection terminated, says the user's constraint")],
    ["a missing table", pgError("42P01")],
    ["another feature that is not supported", pgError("0A000", "cannot do that")],
    ["bad input", new PosthasteError("VALIDATION_FAILED", "no")],
    ["an app that is closed", new PosthasteError("CLOSED", "no")],
    ["a mistake in the code", new TypeError("x is not a function")],
    ["nothing", undefined],
  ])("isRepeatable is false for %s", (_, error) => expect(isRepeatable(error)).toBe(false));

  test.each(["53100", "53200", "58030", "XX000"])(
    "retries after %s, then throws DATABASE_UNAVAILABLE with its reason",
    async (code) => {
      const run = vi.fn(() => Promise.reject(pgError(code, "no space left")));
      const failed = repeatSafely(run).catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(await failed).toMatchObject({
        code: "DATABASE_UNAVAILABLE",
        retryable: true,
        message: "the database refused after 8 attempts: no space left",
      });
      expect(run).toHaveBeenCalledTimes(8);
    },
  );

  test("returns the answer that succeeds at last, and gives each try its number", async () => {
    const tries: number[] = [];
    const answer = repeatSafely(async (before) => {
      tries.push(before);
      if (before < 3) throw pgError("57P01");
      return "done";
    });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await answer).toBe("done");
    expect(tries).toEqual([0, 1, 2, 3]);
  });

  test("throws an error that is not repeatable unchanged, at once", async () => {
    const refusal = pgError("23514");
    const run = vi.fn(() => Promise.reject(refusal));
    await expect(repeatSafely(run)).rejects.toBe(refusal);
    expect(run).toHaveBeenCalledTimes(1);
  });

  test("throws DATABASE_UNAVAILABLE within eleven seconds when the server stays down", async () => {
    const begun = Date.now();
    const failed = repeatSafely(() =>
      Promise.reject(pgError("ECONNREFUSED", "connect failed")),
    ).catch((error: unknown) => ({ error, afterMs: Date.now() - begun }));
    await vi.advanceTimersByTimeAsync(60_000);
    const { error, afterMs } = await failed;
    expect(error).toBeInstanceOf(PosthasteError);
    expect(error).toMatchObject({ code: "DATABASE_UNAVAILABLE", retryable: true });
    expect(String(error)).toContain("connect failed");
    expect(afterMs).toBeGreaterThan(3_000);
    expect(afterMs).toBeLessThan(11_000);
  });

  test("throws STATEMENT_TIMEOUT with the limit when a statement exceeds its time", async () => {
    const cancelled = pgError("57014", "canceling statement due to statement timeout");
    const failed = repeatSafely(() => Promise.reject(cancelled)).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(60_000);
    const error = await failed;
    expect(error).toMatchObject({ code: "STATEMENT_TIMEOUT", retryable: true, cause: cancelled });
    expect(String(error)).toContain("30s");
  });

  test("gives up within eleven seconds when each try takes ten seconds to fail", async () => {
    const begun = Date.now();
    const slow = (): Promise<never> =>
      new Promise((_, reject) =>
        setTimeout(() => reject(new PosthasteError("DATABASE_UNAVAILABLE", "no answer")), 10_000),
      );
    const failed = repeatSafely(slow).catch(() => Date.now() - begun);
    await vi.advanceTimersByTimeAsync(200_000);
    expect(await failed).toBeLessThan(11_000);
  });
});
