import * as fc from "fast-check";
import { expect, test } from "vitest";
import { nearestName, unknownOption } from "./nearest-name.ts";

const known = ["priority", "queue", "goodUntil", "delayMs", "runAt", "concurrency"];

test.each([
  ["prioirty", "priority"],
  ["Queue", "queue"],
  ["gooduntil", "goodUntil"],
  ["delay", "delayMs"],
  ["run_at", "runAt"],
  ["concurency", "concurrency"],
])("%s is close to %s", (name, nearest) => expect(nearestName(name, known)).toBe(nearest));

test.each(["", "banana", "x", "timeoutMs"])("%j is close to nothing", (name) =>
  expect(nearestName(name, known)).toBeUndefined(),
);

test("a known name is nearest to itself", () => {
  for (const name of known) expect(nearestName(name, known)).toBe(name);
});

test("one wrong letter in five is forgiven, wherever it is", () => {
  fc.assert(
    fc.property(fc.constantFrom(...known), fc.nat(), (name, at) => {
      const index = at % name.length;
      expect(nearestName(`${name.slice(0, index)}!${name.slice(index + 1)}`, known)).toBe(name);
    }),
  );
});

test("where nothing is known, nothing is near", () => {
  expect(nearestName("queue", [])).toBeUndefined();
});

test("a sentence suggests the nearest name, or lists all", () => {
  expect(unknownOption("prioirty", known)).toBe(
    'unknown option "prioirty"; did you mean "priority"?',
  );
  expect(unknownOption("banana", ["a", "b"])).toBe('unknown option "banana"; known are a, b');
});
