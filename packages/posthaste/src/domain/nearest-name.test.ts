import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nearestName, unknownOption } from "./nearest-name.ts";

const known = ["priority", "queue", "goodUntil", "delayMs", "runAt", "concurrency"];

describe("nearestName", () => {
  test.each([
    ["prioirty", "priority"],
    ["Queue", "queue"],
    ["gooduntil", "goodUntil"],
    ["delay", "delayMs"],
    ["run_at", "runAt"],
    ["concurency", "concurrency"],
  ])("of %s is %s", (name, nearest) => expect(nearestName(name, known)).toBe(nearest));

  test.each(["", "banana", "x", "timeoutMs"])("of %j is none", (name) =>
    expect(nearestName(name, known)).toBeUndefined(),
  );

  test("of a known name is itself", () => {
    for (const name of known) expect(nearestName(name, known)).toBe(name);
  });

  test("forgives one wrong letter in five, wherever it is", () => {
    fc.assert(
      fc.property(fc.constantFrom(...known), fc.nat(), (name, at) => {
        const index = at % name.length;
        expect(nearestName(`${name.slice(0, index)}!${name.slice(index + 1)}`, known)).toBe(name);
      }),
    );
  });

  test("is none where no name is known", () => {
    expect(nearestName("queue", [])).toBeUndefined();
  });

  test("unknownOption suggests the nearest name, or lists all", () => {
    expect(unknownOption("prioirty", known)).toBe(
      'unknown option "prioirty"; did you mean "priority"?',
    );
    expect(unknownOption("banana", ["a", "b"])).toBe('unknown option "banana"; known: a, b');
  });
});
