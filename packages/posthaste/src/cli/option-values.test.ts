import { describe, expect, test } from "vitest";
import { names, numberByName, oneOf, wholeNumber } from "./option-values.ts";

const rule = { min: 1, max: 100 };

describe("a whole number", () => {
  test.each([
    ["1", 1],
    [" 100 ", 100],
    ["+7", 7],
  ])("%j is %i", (text, value) => expect(wholeNumber(text, rule)).toBe(value));

  test.each(["", "many", "1.5", "1e1", "0x10", "0", "101", "-1"])(
    "%j is none from 1 to 100",
    (text) =>
      expect(() => wholeNumber(text, rule)).toThrow(
        /^expected a whole number from 1 to 100, found /,
      ),
  );
});

test("one of some words", () => {
  expect(oneOf("b", ["a", "b"])).toBe("b");
  expect(() => oneOf("c", ["a", "b"])).toThrow('expected "a" or "b", found "c"');
});

describe("names", () => {
  test("are divided by commas, and a repeated flag adds to them", () => {
    expect(names("mail, bulk")).toEqual(["mail", "bulk"]);
    expect(names("c", ["a", "b"])).toEqual(["a", "b", "c"]);
  });

  test.each(["", "a,,b", "a,"])("%j has one that is empty", (text) =>
    expect(() => names(text)).toThrow(/such as mail,bulk; found /),
  );
});

describe("a number for each queue", () => {
  test("is said with an equals sign, and a repeated flag adds to them", () => {
    expect(numberByName("mail=1, bulk = 50", rule)).toEqual({ mail: 1, bulk: 50 });
    expect(numberByName("mail=2", rule, { mail: 1, bulk: 50 })).toEqual({ mail: 2, bulk: 50 });
  });

  test.each(["", "mail", "mail=", "=5", "mail=1,", "mail=1=2"])("%j is not that", (text) =>
    expect(() => numberByName(text, rule)).toThrow(/^expected /),
  );

  test("obeys the range", () => {
    expect(() => numberByName("mail=101", rule)).toThrow("from 1 to 100, found 101");
  });
});
