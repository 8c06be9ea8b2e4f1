import { describe, expect, test } from "vitest";
import { article, codeProblem, queueNameProblem, taskNameProblem } from "./names.ts";

describe("task names", () => {
  test.each([
    "a",
    "add-numbers",
    "orders.fetch:v2/eu",
    "send mail",
    "überweisung",
    "メール",
    "🚀",
    "x".repeat(255),
  ])("%s is fine", (name) => expect(taskNameProblem(name)).toBeUndefined());

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
  ])("%j is not", (name, says) => expect(taskNameProblem(name)).toContain(says));
});

describe("queue names", () => {
  test.each(["default", "_q", "9", "a.b:c-d_e", "x".repeat(100)])("%s is fine", (name) =>
    expect(queueNameProblem(name)).toBeUndefined(),
  );

  test.each(["", "-a", ".a", "a b", "a/b", "ü", "x".repeat(101), "a\n", null, 3])(
    "%j is not",
    (name) => expect(queueNameProblem(name)).toMatch(/^expected .+, found .+/),
  );
});

describe("codes", () => {
  test.each(["A", "CARD_EXPIRED", "E404", "A__B_"])("%s is fine", (code) =>
    expect(codeProblem(code)).toBeUndefined(),
  );

  test.each(["", "card_expired", "_A", "4XX", "CARD-EXPIRED", "CARD EXPIRED", "A\n", 3])(
    "%j is not",
    (code) => expect(codeProblem(code)).toContain("expected"),
  );

  test.each(["TypeError", "PaymentException", "Error"])("%s looks like an exception", (code) =>
    expect(codeProblem(code)).toContain("what a handler throws is UNHANDLED_ERROR"),
  );
});

test.each<[unknown, string]>([
  [null, "null"],
  [undefined, "undefined"],
  [[], "an array"],
  [{}, "an object"],
  ["x", "a string"],
  [() => 1, "a function"],
])("%j in a sentence", (value, words) => expect(article(value)).toBe(words));
