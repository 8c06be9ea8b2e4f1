import vm from "node:vm";
import { describe, expect, test } from "vitest";
import { describeError } from "./describe-error.ts";

test("an error keeps its name, message, stack and causes", () => {
  const root = new RangeError("disk full");
  const described = describeError(new TypeError("cannot save", { cause: root }));
  expect(described).toMatchObject({
    name: "TypeError",
    message: "cannot save",
    stack: expect.stringMatching(/^TypeError: cannot save\n {4}at /),
    cause: { name: "RangeError", message: "disk full" },
  });
});

test("an AggregateError keeps its inner errors, ten at most, and theirs", async () => {
  const inner = new TypeError("mirror down", { cause: new Error("no route") });
  const thrown: unknown = await Promise.any([Promise.reject(inner), Promise.reject("text")]).catch(
    (error: unknown) => error,
  );
  expect(describeError(thrown)).toMatchObject({
    name: "AggregateError",
    errors: [
      { name: "TypeError", message: "mirror down", cause: { message: "no route" } },
      { name: "string", message: "text" },
    ],
  });
  const many = new AggregateError(Array.from({ length: 50 }, (_, n) => new Error(`${n}`)));
  expect(describeError(many).errors).toHaveLength(10);
});

test("a class of the user's keeps its name", () => {
  class CardExpired extends Error {
    override name = "CardExpired";
  }
  expect(describeError(new CardExpired("in May")).name).toBe("CardExpired");
});

test("an error of another realm is an error too", () => {
  const foreign: unknown = vm.runInNewContext("new TypeError('from a sandbox')");
  expect(describeError(foreign)).toMatchObject({
    name: "TypeError",
    message: "from a sandbox",
    stack: expect.any(String),
  });
});

describe("what is no error is described by what it is", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;

  test.each<[string, unknown, string, string]>([
    ["a string", "no luck", "string", "no luck"],
    ["undefined", undefined, "undefined", "undefined"],
    ["null", null, "object", "null"],
    ["a number", 42, "number", "42"],
    ["a bigint", 42n, "bigint", "42"],
    ["a symbol", Symbol("s"), "symbol", "Symbol(s)"],
    ["an object", { code: 7 }, "object", '{"code":7}'],
    ["a cyclic object", cyclic, "object", "[object Object]"],
    ["an object that holds a bigint", { n: 1n }, "object", "[object Object]"],
    ["an object without a prototype", Object.create(null), "object", "{}"],
    ["an object that JSON leaves out", { toJSON: () => undefined }, "object", "[object Object]"],
    ["an array", [1, 2], "object", "[1,2]"],
  ])("%s", (_, thrown, name, message) => expect(describeError(thrown)).toEqual({ name, message }));

  test("a function", () => {
    expect(describeError(() => 1)).toEqual({ name: "function", message: "() => 1" });
  });
});

describe("whatever it is, describing it does not throw", () => {
  const hostile: Record<string, () => unknown> = {
    "an error whose message throws": () =>
      Object.defineProperty(new Error(), "message", {
        get() {
          throw new Error("no");
        },
      }),
    "an error whose name cannot be text": () =>
      Object.defineProperty(new Error("x"), "name", { value: Object.create(null) }),
    "an error whose cause throws": () =>
      Object.defineProperty(new Error("x"), "cause", {
        get() {
          throw new Error("no");
        },
      }),
    "a proxy that refuses everything": () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    },
  };

  test.each(Object.entries(hostile))("%s", (_, make) => {
    expect(describeError(make())).toEqual({
      name: "object",
      message: "what was thrown throws in turn when it is read",
    });
  });
});

describe("what PostgreSQL cannot store is replaced", () => {
  test.each([
    ["a\u0000b", "a\uFFFDb"],
    ["cut \ud83d", "cut \uFFFD"],
  ])("%j", (message, stored) => {
    const error = new Error(message);
    error.name = message;
    const described = describeError(error);
    expect([described.name, described.message]).toEqual([stored, stored]);
    expect(described.stack).not.toContain("\u0000");
    expect(described.stack?.isWellFormed()).toBe(true);
  });
});

test("long messages and stacks are cut, and say how long they were", () => {
  const error = new Error("x".repeat(100_000));
  const { message, stack } = describeError(error);
  expect(message).toHaveLength(16_384 + "… (100000 characters)".length);
  expect(message).toMatch(/x… \(100000 characters\)$/);
  expect(stack?.length).toBeLessThan(33_000);
});

test("causes are followed five deep, so a chain that ends in itself ends too", () => {
  const error = new Error("loop");
  error.cause = error;
  let depth = 0;
  for (let at = describeError(error).cause; at !== undefined; at = at.cause) depth++;
  expect(depth).toBe(5);
});
