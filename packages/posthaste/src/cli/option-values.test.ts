import { describe, expect, test } from "vitest";
import { durationMs, names, numberByName, oneOf, wholeNumber } from "./option-values.ts";

const rule = { min: 1, max: 100 };

describe("option values", () => {
  describe("wholeNumber", () => {
    test.each([
      ["1", 1],
      [" 100 ", 100],
      ["+7", 7],
    ])("reads %j as %i", (text, value) => expect(wholeNumber(text, rule)).toBe(value));

    test.each(["", "many", "1.5", "1e1", "0x10", "0", "101", "-1"])(
      "refuses %j for 1 to 100",
      (text) =>
        expect(() => wholeNumber(text, rule)).toThrow(
          /^expected a whole number from 1 to 100, found /,
        ),
    );
  });

  test("oneOf accepts the listed words only", () => {
    expect(oneOf("b", ["a", "b"])).toBe("b");
    expect(() => oneOf("c", ["a", "b"])).toThrow('expected "a" or "b", found "c"');
  });

  describe("names", () => {
    test("splits at commas, and a repeated flag adds names", () => {
      expect(names("mail, bulk")).toEqual(["mail", "bulk"]);
      expect(names("c", ["a", "b"])).toEqual(["a", "b", "c"]);
    });

    test.each(["", "a,,b", "a,"])("refuses an empty name in %j", (text) =>
      expect(() => names(text)).toThrow(/such as mail,bulk; found /),
    );
  });

  describe("numberByName", () => {
    test("reads name=number, and a repeated flag adds pairs", () => {
      expect(numberByName("mail=1, bulk = 50", rule)).toEqual({ mail: 1, bulk: 50 });
      expect(numberByName("mail=2", rule, { mail: 1, bulk: 50 })).toEqual({ mail: 2, bulk: 50 });
    });

    test.each(["", "mail", "mail=", "=5", "mail=1,", "mail=1=2"])("refuses %j", (text) =>
      expect(() => numberByName(text, rule)).toThrow(/^expected /),
    );

    test("obeys the range", () => {
      expect(() => numberByName("mail=101", rule)).toThrow("from 1 to 100, found 101");
    });
  });
});

describe("durationMs", () => {
  test.each([
    ["500ms", 500],
    ["1.5s", 1_500],
    ["10m", 600_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
  ])("%s is %i ms", (text, ms) => expect(durationMs(text)).toBe(ms));

  test.each(["10", "s", "-1s", "1 week", ""])("refuses %j", (text) =>
    expect(() => durationMs(text)).toThrow("such as 500ms, 30s, 10m, 2h or 1d"),
  );
});
