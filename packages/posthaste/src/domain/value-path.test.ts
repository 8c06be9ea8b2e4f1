import { describe, expect, test } from "vitest";
import { valuePath } from "./value-path.ts";

describe("valuePath", () => {
  test.each<[PropertyKey[], string]>([
    [[], ""],
    [["items", 3, "price"], "items[3].price"],
    [[0, "a"], "[0].a"],
    [["headers", "x-id"], 'headers["x-id"]'],
    [["a.b", "ü"], '["a.b"].ü'],
    [["", "3"], '[""]["3"]'],
    [["a", Symbol("s")], "a[Symbol(s)]"],
  ])("of %j is %s", (keys, path) => {
    expect(valuePath(keys)).toBe(path);
  });
});
