import vm from "node:vm";
import { describe, expect, test } from "vitest";
import { serializeError } from "./serialize-error.ts";

describe("serializeError", () => {
  test("keeps name, message, stack and causes", () => {
    const root = new RangeError("disk full");
    const described = serializeError(new TypeError("cannot save", { cause: root }));
    expect(described).toMatchObject({
      name: "TypeError",
      message: "cannot save",
      stack: expect.stringMatching(/^TypeError: cannot save\n {4}at /),
      cause: { name: "RangeError", message: "disk full" },
    });
  });

  test("keeps up to ten inner errors of an AggregateError, and their causes", async () => {
    const inner = new TypeError("mirror down", { cause: new Error("no route") });
    const thrown: unknown = await Promise.any([
      Promise.reject(inner),
      Promise.reject("text"),
    ]).catch((error: unknown) => error);
    expect(serializeError(thrown)).toMatchObject({
      name: "AggregateError",
      errors: [
        { name: "TypeError", message: "mirror down", cause: { message: "no route" } },
        { name: "string", message: "text" },
      ],
    });
    const many = new AggregateError(Array.from({ length: 50 }, (_, n) => new Error(`${n}`)));
    expect(serializeError(many).errors).toHaveLength(10);
  });

  test("keeps the name of a user's error class", () => {
    class CardExpired extends Error {
      override name = "CardExpired";
    }
    expect(serializeError(new CardExpired("in May")).name).toBe("CardExpired");
  });

  test("recognises an error of another realm", () => {
    const foreign: unknown = vm.runInNewContext("new TypeError('from a sandbox')");
    expect(serializeError(foreign)).toMatchObject({
      name: "TypeError",
      message: "from a sandbox",
      stack: expect.any(String),
    });
  });

  describe("describes a thrown value that is not an error", () => {
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
    ])("%s", (_, thrown, name, message) =>
      expect(serializeError(thrown)).toEqual({ name, message }),
    );

    test("a function", () => {
      expect(serializeError(() => 1)).toEqual({ name: "function", message: "() => 1" });
    });
  });

  describe("does not throw, whatever the value is", () => {
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
      expect(serializeError(make())).toEqual({
        name: "object",
        message: "the thrown value itself throws when it is read",
      });
    });
  });

  describe("replaces characters that PostgreSQL cannot store", () => {
    test.each([
      ["a\u0000b", "a\uFFFDb"],
      ["cut \ud83d", "cut \uFFFD"],
    ])("%j", (message, stored) => {
      const error = new Error(message);
      error.name = message;
      const described = serializeError(error);
      expect([described.name, described.message]).toEqual([stored, stored]);
      expect(described.stack).not.toContain("\u0000");
      expect(described.stack?.isWellFormed()).toBe(true);
    });
  });

  test("cuts long messages and stacks and says their length", () => {
    const error = new Error("x".repeat(100_000));
    const { message, stack } = serializeError(error);
    expect(message).toHaveLength(16_384 + "… (100000 characters)".length);
    expect(message).toMatch(/x… \(100000 characters\)$/);
    expect(stack?.length).toBeLessThan(33_000);
  });

  test("follows causes five deep, so a cycle ends", () => {
    const error = new Error("loop");
    error.cause = error;
    let depth = 0;
    for (let at = serializeError(error).cause; at !== undefined; at = at.cause) depth++;
    expect(depth).toBe(5);
  });
});
