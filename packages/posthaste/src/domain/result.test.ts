import { describe, expect, test } from "vitest";
import { decodeResult } from "./result.ts";

describe("decodeResult", () => {
  test("returns the value of a completed task", () => {
    expect(decodeResult({ status: "COMPLETED", result: '{"a":[1]}', error: null })).toEqual({
      ok: true,
      value: { a: [1] },
    });
  });

  test("returns null as a value", () => {
    expect(decodeResult({ status: "COMPLETED", result: "null", error: null })).toEqual({
      ok: true,
      value: null,
    });
  });

  test("returns the error of a failed task", () => {
    const error = { code: "GONE", message: "no", data: { id: 1 } };
    expect(decodeResult({ status: "FAILED", result: null, error: JSON.stringify(error) })).toEqual({
      ok: false,
      error,
    });
  });

  test.each(["COMPLETED", "FAILED", "CANCELLED", "EXPIRED"])(
    "returns RESULT_NOT_AVAILABLE for %s without a stored result",
    (status) => {
      expect(decodeResult({ status, result: null, error: null })).toEqual({
        ok: false,
        error: {
          code: "RESULT_NOT_AVAILABLE",
          message: `the task is ${status}, but its result is not stored`,
        },
      });
    },
  );
});
