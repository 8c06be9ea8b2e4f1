import { describe, expect, test } from "vitest";
import { encodeValue } from "./encode-value.ts";

describe("encodeValue", () => {
  test.each([
    ["text", "text"],
    [1.5, "1.5"],
    [-Infinity, "-Infinity"],
    [12n, "12"],
    [true, "true"],
    [null, null],
    [undefined, null],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
    [{ a: [1] }, '{"a":[1]}'],
    [[], "{}"],
    [[1, true, null], "{1,true,NULL}"],
    [['a"b', "c\\d", "null", ""], '{"a\\"b","c\\\\d","null",""}'],
    [[["a"], ["b"]], '{{"a"},{"b"}}'],
    [[{ a: 'x"y' }], '{"{\\"a\\":\\"x\\\\\\"y\\"}"}'],
    [[Buffer.from([1, 255])], '{"\\\\x01ff"}'],
  ])("%o travels as %o", (value, encoded) => {
    expect(encodeValue(value)).toEqual(encoded);
  });

  test("bytes stay bytes", () => {
    const bytes = Buffer.from([1, 2]);
    expect(encodeValue(bytes)).toBe(bytes);
  });
});
