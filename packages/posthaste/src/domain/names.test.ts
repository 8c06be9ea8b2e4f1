import { describe, expect, test } from "vitest";
import { article, codeProblem, queueNameProblem, taskNameProblem } from "./names.ts";

describe("names", () => {
  describe("taskNameProblem", () => {
    test.each([
      "a",
      "add-numbers",
      "orders.fetch:v2/eu",
      "send mail",
      "überweisung",
      "メール",
      "🚀",
      "x".repeat(255),
    ])("accepts %s", (name) => expect(taskNameProblem(name)).toBeUndefined());

    test.each<[unknown, string]>([
      ["", "expected 1 to 255 characters, found none"],
      ["x".repeat(256), "expected 1 to 255 characters, found 256"],
      ["a\nb", 'printable characters only, found "a\\nb"'],
      ["a\u0000", "printable"],
      ["\u2028", "printable"],
      ["a\ud800", "printable"],
      [" a", "no space at either end"],
      ["a ", "no space at either end"],
      [undefined, "expected a string, found undefined"],
      [7, "expected a string, found a number"],
    ])("refuses %j", (name, says) => expect(taskNameProblem(name)).toContain(says));
  });

  describe("queueNameProblem", () => {
    test.each(["default", "_q", "9", "a.b:c-d_e", "x".repeat(100)])("accepts %s", (name) =>
      expect(queueNameProblem(name)).toBeUndefined(),
    );

    test.each(["", "-a", ".a", "a b", "a/b", "ü", "x".repeat(101), "a\n", null, 3])(
      "refuses %j",
      (name) => expect(queueNameProblem(name)).toMatch(/^expected .+, found .+/),
    );
  });

  describe("codeProblem", () => {
    test.each(["A", "CARD_EXPIRED", "E404", "A__B_"])("accepts %s", (code) =>
      expect(codeProblem(code)).toBeUndefined(),
    );

    test.each(["", "card_expired", "_A", "4XX", "CARD-EXPIRED", "CARD EXPIRED", "A\n", 3])(
      "refuses %j",
      (code) => expect(codeProblem(code)).toContain("expected"),
    );

    test.each(["TypeError", "PaymentException", "Error"])(
      "recognises the exception name %s",
      (code) => expect(codeProblem(code)).toContain("what a handler throws is UNHANDLED_ERROR"),
    );
  });

  test.each<[unknown, string]>([
    [null, "null"],
    [undefined, "undefined"],
    [[], "an array"],
    [{}, "an object"],
    ["x", "a string"],
    [() => 1, "a function"],
  ])("article fits %j in a sentence", (value, words) => expect(article(value)).toBe(words));
});
