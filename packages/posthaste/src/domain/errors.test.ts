import { describe, expect, test } from "vitest";
import { isResultCode, PosthasteError, resultCodes, TaskFailedError } from "./errors.ts";

describe("errors", () => {
  test("PosthasteError puts one problem behind the sentence, several on lines of their own", () => {
    const one = [{ path: "a.b", message: "expected x" }];
    expect(PosthasteError.of("CONFIG_INVALID", "it is not valid", one).message).toBe(
      "it is not valid: a.b: expected x",
    );
    const two = [...one, { path: "", message: "expected y" }];
    const error = PosthasteError.of("CONFIG_INVALID", "it is not valid", two);
    expect(error.message).toBe("it is not valid:\n  - a.b: expected x\n  - expected y");
    expect(error.problems).toEqual(two);
  });

  test.each([
    ["DATABASE_UNAVAILABLE", true],
    ["STATEMENT_TIMEOUT", true],
    ["WAIT_TIMEOUT", true],
    ["VALIDATION_FAILED", false],
    ["CLOSED", false],
  ] as const)("PosthasteError %s is retryable: %s", (code, retryable) => {
    expect(new PosthasteError(code, "m")).toMatchObject({
      name: "PosthasteError",
      code,
      retryable,
    });
  });

  test("PosthasteError keeps its cause, and has none otherwise", () => {
    const cause = new Error("why");
    expect(new PosthasteError("CLOSED", "m", { cause }).cause).toBe(cause);
    expect("cause" in new PosthasteError("CLOSED", "m")).toBe(false);
  });

  test("TaskFailedError names the task, the code and the message", () => {
    const failure = { code: "GONE", message: "no such user", data: { id: 7 } };
    const error = new TaskFailedError("t-1", failure);
    expect(error.message).toBe("task t-1 ended with GONE: no such user");
    expect(error).toMatchObject({ code: "GONE", taskId: "t-1", error: failure });
  });

  test("isResultCode accepts the built-in codes only, not property names of objects", () => {
    for (const code of Object.keys(resultCodes)) expect(isResultCode(code)).toBe(true);
    for (const code of ["GONE", "constructor", "toString", ""])
      expect(isResultCode(code)).toBe(false);
  });
});
