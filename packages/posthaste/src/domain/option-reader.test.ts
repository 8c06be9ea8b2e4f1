import { describe, expect, test } from "vitest";
import { isRecord, OptionReader, shown } from "./option-reader.ts";

function read(values: unknown, known = ["count", "isOn", "name", "mode", "inner"]) {
  return new OptionReader("options", values, known);
}

test("every problem is remembered, each with its path", () => {
  const options = read({ count: 0.5, isOn: "yes", name: 3, mode: "c", cuont: 1 });
  options.integer("count", { min: 1, max: 9 }, 5);
  options.flag("isOn", true);
  options.text("name");
  options.choice("mode", ["a", "b"], "a");

  expect(options.problems).toEqual([
    { path: "options", message: 'unknown option "cuont"; did you mean "count"?' },
    { path: "options.count", message: "expected a whole number from 1 to 9, found 0.5" },
    { path: "options.isOn", message: 'expected true or false, found "yes"' },
    { path: "options.name", message: "expected a string, found 3" },
    { path: "options.mode", message: 'expected "a" or "b", found "c"' },
  ]);
});

test("what is left out, or undefined, takes the default without a word", () => {
  const options = read({ count: undefined });
  expect([
    options.integer("count", { min: 1, max: 9 }, 5),
    options.flag("isOn", true),
    options.text("name"),
    options.choice("mode", ["a", "b"], "b"),
  ]).toEqual([5, true, undefined, "b"]);
  expect(options.problems).toEqual([]);
});

test("what is given is taken", () => {
  const options = read({ count: 9, isOn: false, name: "", mode: "b" });
  expect([
    options.integer("count", { min: 1, max: 9 }, 5),
    options.flag("isOn", true),
    options.text("name"),
    options.choice("mode", ["a", "b"], "a"),
  ]).toEqual([9, false, "", "b"]);
  expect(options.problems).toEqual([]);
});

describe("whole numbers", () => {
  test.each([0, 10, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", 5n, null, true, [5]])(
    "%s is none from 1 to 9",
    (count) => {
      const options = read({ count });
      expect(options.integer("count", { min: 1, max: 9 }, 5)).toBe(5);
      expect(options.problems.map(({ path }) => path)).toEqual(["options.count"]);
    },
  );

  test("null is a value where the default is null", () => {
    const options = read({ count: null });
    expect(options.integer("count", { min: 1, max: 9 }, null)).toBeNull();
    expect(options.problems).toEqual([]);
  });

  test("a range without an end says so", () => {
    const options = read({ count: -1 });
    options.integer("count", { min: 1, max: Number.MAX_SAFE_INTEGER }, 1);
    expect(options.problems[0]?.message).toBe("expected a whole number of at least 1, found -1");
  });
});

test("options inside an option report to the same list", () => {
  const options = read({ inner: { deep: "x", extra: 1 } });
  options.group("inner", ["deep"]).flag("deep", false);

  expect(options.problems).toEqual([
    { path: "options.inner", message: 'unknown option "extra"; known are deep' },
    { path: "options.inner.deep", message: 'expected true or false, found "x"' },
  ]);
});

test.each([null, 3, "x", [1], true])("%j is no bag of options", (values) => {
  expect(read(values).problems).toHaveLength(1);
  expect(read(values).problems[0]?.message).toMatch(/^expected an object of options, found /);
});

test("an option that only the prototype has is not given", () => {
  const options = read(Object.create({ count: 0 }));
  expect(options.integer("count", { min: 1, max: 9 }, 5)).toBe(5);
  expect(options.problems).toEqual([]);
});

test("a value in a sentence is short and shows nothing of an object's inside", () => {
  expect(shown("x".repeat(200))).toHaveLength(82);
  expect(shown({ password: "secret" })).toBe("an object");
  expect(shown(12n)).toBe("12");
  expect(shown(undefined)).toBe("undefined");
});

test.each([
  [{}, true],
  [Object.create(null), true],
  [[], false],
  [null, false],
  ["x", false],
])("%j is a record: %s", (value, is) => expect(isRecord(value)).toBe(is));
