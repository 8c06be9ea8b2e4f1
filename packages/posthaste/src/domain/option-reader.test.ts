import { describe, expect, test } from "vitest";
import { isRecord, OptionReader, shown } from "./option-reader.ts";

function read(values: unknown, known = ["count", "isOn", "name", "mode", "inner"]) {
  return new OptionReader("options", values, known);
}

describe("OptionReader", () => {
  test("collects every problem with its path", () => {
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

  test("takes the default for an omitted or undefined option, without a problem", () => {
    const options = read({ count: undefined });
    expect([
      options.integer("count", { min: 1, max: 9 }, 5),
      options.flag("isOn", true),
      options.text("name"),
      options.choice("mode", ["a", "b"], "b"),
    ]).toEqual([5, true, undefined, "b"]);
    expect(options.problems).toEqual([]);
  });

  test("takes a given option", () => {
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
      "refuses %s for 1 to 9",
      (count) => {
        const options = read({ count });
        expect(options.integer("count", { min: 1, max: 9 }, 5)).toBe(5);
        expect(options.problems.map(({ path }) => path)).toEqual(["options.count"]);
      },
    );

    test("accepts null where the default is null", () => {
      const options = read({ count: null });
      expect(options.integer("count", { min: 1, max: 9 }, null)).toBeNull();
      expect(options.problems).toEqual([]);
    });

    test("says so when a range has no end", () => {
      const options = read({ count: -1 });
      options.integer("count", { min: 1, max: Number.MAX_SAFE_INTEGER }, 1);
      expect(options.problems[0]?.message).toBe("expected a whole number of at least 1, found -1");
    });
  });

  test("reports problems of nested options to the same list", () => {
    const options = read({ inner: { deep: "x", extra: 1 } });
    options.group("inner", ["deep"]).flag("deep", false);

    expect(options.problems).toEqual([
      { path: "options.inner", message: 'unknown option "extra"; known: deep' },
      { path: "options.inner.deep", message: 'expected true or false, found "x"' },
    ]);
  });

  test.each([null, 3, "x", [1], true])("refuses %j as options", (values) => {
    expect(read(values).problems).toHaveLength(1);
    expect(read(values).problems[0]?.message).toMatch(/^expected an object of options, found /);
  });

  test("ignores an option that only the prototype has", () => {
    const options = read(Object.create({ count: 0 }));
    expect(options.integer("count", { min: 1, max: 9 }, 5)).toBe(5);
    expect(options.problems).toEqual([]);
  });

  test("shown is short and hides the content of an object", () => {
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
  ])("isRecord of %j is %s", (value, is) => expect(isRecord(value)).toBe(is));
});
