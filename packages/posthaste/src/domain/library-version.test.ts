import { describe, expect, test } from "vitest";
import { isOlderVersion } from "./library-version.ts";

describe("isOlderVersion", () => {
  test.each([
    ["0.1.0", "0.2.0", true],
    ["0.9.9", "0.10.0", true],
    ["0.1.9", "1.0.0", true],
    ["0.2.0", "0.2.0", false],
    ["0.2.1", "0.2.0", false],
    ["1.0.0", "0.99.99", false],
    ["0.4.0-beta.1", "0.4.0", false],
  ])("%s is older than %s: %s", (one, other, expected) => {
    expect(isOlderVersion(one, other)).toBe(expected);
  });

  test("refuses a text that is not a version", () => {
    expect(() => isOlderVersion("0.1", "0.2.0")).toThrow("found 0.1");
  });
});
