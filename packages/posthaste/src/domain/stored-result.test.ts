import { expect, test } from "vitest";
import { decodeResult } from "./stored-result.ts";

test("a completed task gives its value", () => {
  expect(decodeResult({ status: "COMPLETED", result: '{"a":[1]}', error: null })).toEqual({
    ok: true,
    value: { a: [1] },
  });
});

test("a value that is null is a value", () => {
  expect(decodeResult({ status: "COMPLETED", result: "null", error: null })).toEqual({
    ok: true,
    value: null,
  });
});

test("a failed task gives its error", () => {
  const error = { code: "GONE", message: "no", data: { id: 1 } };
  expect(decodeResult({ status: "FAILED", result: null, error: JSON.stringify(error) })).toEqual({
    ok: false,
    error,
  });
});

test.each(["COMPLETED", "FAILED", "CANCELLED", "EXPIRED"])(
  "%s with nothing stored is RESULT_NOT_AVAILABLE",
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
