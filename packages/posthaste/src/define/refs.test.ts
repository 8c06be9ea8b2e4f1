/** Refs at run time: what can be done with them, and what is refused in words that help. */
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { refText } from "../domain/graph-words.ts";
import { makeRef, refFacts, RefUsedError } from "./refs.ts";
import type { Loose } from "../../test/support/loose-flow.ts";

const build = {};
const order: Loose = makeRef({ build, from: "order", part: "output", at: [] });
const input: Loose = makeRef({ build, from: "$input", part: "output", at: [] });

describe("makeRef", () => {
  test("makes a deeper ref for any property, and an index for a number", () => {
    expect(refFacts(order.items[3]["x-id"].name.length)).toEqual({
      build,
      from: "order",
      part: "output",
      at: ["items", 3, "x-id", "name", "length"],
    });
    expect(refFacts(order["007"])?.at).toEqual(["007"]);
    expect(refFacts({})).toBeUndefined();
  });

  test("has the text that an author would write", () => {
    expect(refText(refFacts(order.items[3]["x-id"]) as never)).toBe(
      'order.output.items[3]["x-id"]',
    );
    expect(refText(refFacts(input.id) as never)).toBe("input.id");
    const join = { from: "$any1", part: "output", at: ["n"] } as const;
    expect(refText(join)).toBe("$any1.output.n");
    expect(inspect({ a: input.id })).toBe("{ a: Ref(input.id) }");
  });

  test("is not thenable", async () => {
    expect(await order.total).toBeTypeOf("function");
    expect(refFacts(await order.total)?.at).toEqual(["total"]);
  });

  test.each<[string, RegExp, () => unknown]>([
    ["a template", /turned into a text or a number, or compared/, () => `${order.total}`],
    ["a sum", /turned into a text or a number/, () => order.total + 1],
    ["a comparison", /turned into a text or a number, or compared/, () => order.total > 3],
    ["loose equality", /turned into a text or a number, or compared/, () => order.total == 3],
    ["Number()", /turned into a text or a number/, () => Number(order.total)],
    ["toString", /turned into a text/, () => order.total.toString()],
    ["JSON", /turned into JSON/, () => JSON.stringify({ a: order.total })],
    ["a loop", /iterated or spread/, () => [...order.items]],
    ["an object spread", /spread, copied or asked for its keys/, () => ({ ...order.address })],
    ["Object.keys", /asked for its keys/, () => Object.keys(order.address)],
    ["in", /asked for its keys/, () => "city" in order.address],
    ["hasOwn", /asked for its keys/, () => Object.hasOwn(order.address, "city")],
    [
      "a method",
      /order\.output\.items\.map was called as a function/,
      () => order.items.map(String),
    ],
    ["an assignment", /changed/, () => (order.total = 1)],
    ["delete", /changed/, () => delete order.total],
  ])("throws when it is used as a value: %s", (_how, words, use) => {
    expect(use).toThrow(RefUsedError);
    expect(use).toThrow(words);
    expect(use).toThrow(
      /its value is not known while the graph is built.*flow\.when.*flow\.each.*task/,
    );
  });
});
