import * as fc from "fast-check";
import vm from "node:vm";
import { describe, expect, test } from "vitest";
import { encodeJson } from "./json.ts";
import { valuePath } from "./value-path.ts";

const noLimit = { rejectBytes: null };

function problemsOf(value: unknown): readonly { path: string; message: string }[] {
  const encoded = encodeJson(value, noLimit);
  return encoded.ok ? [] : encoded.problems;
}

function textOf(value: unknown): string {
  const encoded = encodeJson(value, noLimit);
  if (!encoded.ok) throw new Error(JSON.stringify(encoded.problems));
  return encoded.text;
}

describe("encodeJson", () => {
  test("encodes every JSON value so that it parses back equal", () => {
    // Not the values of fast-check's default: those never hold \u0000 or half surrogates, nor -0 that JSON makes 0.
    const storable = fc.jsonValue({ stringUnit: "grapheme" });
    fc.assert(
      fc.property(storable, (value) => {
        fc.pre(!JSON.stringify(value).includes("\\u0000"));
        expect(JSON.parse(textOf(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  describe("refuses a value that JSON would change, with its path and advice", () => {
    class Point {
      x = 1;
    }
    test.each<[unknown, string]>([
      ["a\u0000b", "\\u0000: remove it"],
      ["cut \ud83d", "half of a surrogate pair"],
      ["\ude00 cut", "half of a surrogate pair"],
      [Number.NaN, "expected a finite number, found NaN: use null"],
      [Number.POSITIVE_INFINITY, "found Infinity"],
      [Number.NEGATIVE_INFINITY, "found -Infinity"],
      [10n, "a bigint: use a string"],
      [() => 1, "a function"],
      [Symbol("s"), "a symbol"],
      [new Date(0), "a Date: send .toISOString()"],
      [new Map([["a", 1]]), "a Map: send Object.fromEntries(map)"],
      [new Set([1]), "a Set: send [...set]"],
      [Buffer.from("x"), "binary data: send a base64 string"],
      [new Float64Array(2), "binary data"],
      [new ArrayBuffer(2), "binary data"],
      [new DataView(new ArrayBuffer(2)), "binary data"],
      [new TypeError("x"), "an Error: send its message"],
      [Promise.resolve(1), "a promise: await it first"],
      [new Point(), "an instance of Point: send a plain object"],
      [new URL("http://x.test"), "an instance of URL"],
      [/x/, "an instance of RegExp"],
      [Object("boxed"), "an instance of String"],
      [new WeakMap(), "an instance of WeakMap"],
      [Object.create({ inherited: 1 }), "an instance of Object"],
      [Object.create(new (class extends Point {})()), "an instance of"],
      [
        new (class {
          y = 1;
        })(),
        "an instance of a class",
      ],
      [{ toJSON: () => "x" }, "a function"],
    ])("%s", (value, says) => {
      const [problem] = problemsOf({ items: [0, { price: value }] });
      expect(problem?.path).toMatch(/^items\[1\]\.price/);
      expect(problem?.message).toContain(says);
      // And as the whole value.
      expect(problemsOf(value)[0]?.message).toContain(says);
    });

    test("undefined and holes in arrays", () => {
      expect(problemsOf([1, undefined])).toEqual([
        { path: "[1]", message: "expected a value, found undefined in an array: use null" },
      ]);
      // oxlint-disable-next-line no-sparse-arrays -- the case under test
      expect(problemsOf({ list: [, 1] })[0]?.path).toBe("list[0]");
    });

    test("keys that no text column can hold", () => {
      expect(problemsOf({ "a\u0000": 1 })[0]?.path).toBe('["a\\u0000"]');
      expect(problemsOf({ deep: { "\ud800": 1 } })[0]).toEqual({
        path: 'deep["\\ud800"]',
        message: expect.stringContaining("a key of whole characters"),
      });
    });

    test("cycles, and the same value twice is none", () => {
      const cyclic: Record<string, unknown> = { name: "a" };
      cyclic["children"] = [{ parent: cyclic }];
      expect(problemsOf(cyclic)).toEqual([
        {
          path: "children[0].parent",
          message: "expected a tree, found a cycle: the value contains itself",
        },
      ]);
      const shared = { n: 1 };
      expect(textOf({ a: shared, b: [shared, shared] })).toBe(
        '{"a":{"n":1},"b":[{"n":1},{"n":1}]}',
      );
    });

    test("more than 200 levels", () => {
      expect(textOf(nest(200))).toBe(`${"[".repeat(200)}${"]".repeat(200)}`);
      const [problem] = problemsOf(nest(201));
      expect(problem?.message).toContain("at most 200 levels");
      expect(problem?.path).toBe("[0]".repeat(200));
      // Deep enough to overflow the stack of a walk without a limit.
      expect(problemsOf(nest(100_000))).toHaveLength(1);
    });

    test("getters and proxies that throw", () => {
      const angry = {
        fine: 1,
        get boom(): number {
          throw new Error("not today");
        },
      };
      expect(problemsOf({ a: angry, b: 10n })).toEqual([
        { path: "a.boom", message: expect.stringContaining("not today") },
        { path: "b", message: expect.stringContaining("a bigint") },
      ]);
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      expect(problemsOf({ gone: proxy })[0]?.path).toBe("gone");
      const closed = new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error("no keys");
          },
        },
      );
      expect(problemsOf({ closed, b: 1n }).map(({ path }) => path)).toEqual(["closed", "b"]);
    });

    test("a getter that throws a value other than an error", () => {
      const odd = {
        get boom(): number {
          // oxlint-disable-next-line typescript/only-throw-error -- the case under test
          throw Object.create(null);
        },
      };
      expect(problemsOf(odd)).toEqual([
        { path: "boom", message: expect.stringContaining("an object") },
      ]);
    });

    test("a getter that throws only the second time", () => {
      let reads = 0;
      const moody = {
        get boom(): number {
          if (++reads === 2) throw new Error("not again");
          return 1;
        },
      };
      expect(problemsOf(moody)).toEqual([
        { path: "", message: expect.stringContaining("not again") },
      ]);
    });

    test("all problems at once, up to 20", () => {
      expect(problemsOf({ a: 1n, b: [Number.NaN, { c: new Date(0) }] }).map((p) => p.path)).toEqual(
        ["a", "b[0]", "b[1].c"],
      );
      expect(problemsOf(Array.from({ length: 500 }, () => 1n))).toHaveLength(20);
      expect(problemsOf(Array.from({ length: 500 }, () => ({ at: 1n })))).toHaveLength(20);
    });
  });

  test("gives a refused value a path that leads to it", () => {
    const place = fc.array(fc.oneof(fc.nat({ max: 3 }), fc.string({ minLength: 1 })), {
      maxLength: 6,
    });
    const bad = fc.constantFrom<unknown>(1n, Number.NaN, new Date(0), new Map(), "\u0000", () => 1);
    fc.assert(
      fc.property(place, bad, fc.jsonValue(), (keys, value, sibling) => {
        const [problem, ...others] = problemsOf(plant(keys, value, sibling));
        expect(problem?.path).toBe(valuePath(keys));
        expect(others).toEqual([]);
      }),
    );
  });

  test("omits the properties that JSON omits", () => {
    expect(textOf({ a: undefined, b: 1 })).toBe('{"b":1}');
    expect(textOf({ [Symbol("brand")]: 1, b: 1 })).toBe('{"b":1}');
    expect(textOf(undefined)).toBe("null");
    expect(textOf(-0)).toBe("0");
  });

  test("accepts objects without a prototype and of another realm as plain", () => {
    expect(textOf(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}');
    expect(textOf(vm.runInNewContext("({ a: [1, { b: 2 }] })"))).toBe('{"a":[1,{"b":2}]}');
    expect(problemsOf(vm.runInNewContext("({ a: 1n })"))[0]?.path).toBe("a");
  });

  test("encodes __proto__ like any other key", () => {
    const text = textOf(JSON.parse('{"__proto__":{"admin":true},"a":1}'));
    expect(text).toBe('{"__proto__":{"admin":true},"a":1}');
    expect(problemsOf(JSON.parse('{"__proto__":{"a":"\\u0000"}}'))[0]?.path).toBe("__proto__.a");
  });

  test("keeps text that only looks like an escape", () => {
    for (const value of ["\\u0000", "C:\\users", "\\ud800", "\u0001", "😀", "\\"]) {
      expect(JSON.parse(textOf({ value }))).toEqual({ value });
    }
  });

  describe("size", () => {
    test("refuses a text over the limit with its exact size", () => {
      expect(encodeJson("é".repeat(10), { rejectBytes: 21 })).toEqual({
        ok: false,
        tooLarge: 22,
        problems: [
          { path: "", message: expect.stringContaining("at most 21 bytes of JSON, found 22") },
        ],
      });
      expect(encodeJson("é".repeat(10), { rejectBytes: 22 })).toMatchObject({
        ok: true,
        bytes: 22,
      });
    });

    test("never underestimates the bytes, and is exact from 16 KiB on", () => {
      fc.assert(
        fc.property(fc.string({ unit: "grapheme" }), fc.nat({ max: 400 }), (text, times) => {
          const encoded = encodeJson(text.repeat(times).replaceAll("\u0000", ""), noLimit);
          if (!encoded.ok) throw new Error("refused");
          const exact = Buffer.byteLength(encoded.text);
          expect(encoded.bytes).toBeGreaterThanOrEqual(exact);
          if (exact >= 16 * 1024) expect(encoded.bytes).toBe(exact);
        }),
      );
    });
  });

  test("refuses more than a jsonb value holds, whatever the configured limit", () => {
    const encoded = encodeJson("x".repeat(268_435_454), { rejectBytes: null }); // two quotes come on top
    expect(encoded).toEqual({
      ok: false,
      problems: [
        {
          path: "",
          message: expect.stringMatching(/at most 268435455 bytes.*jsonb.*found 268435456/),
        },
      ],
    });
  }, 60_000);
});

function nest(levels: number): unknown {
  let value: unknown[] = [];
  for (let level = 1; level < levels; level++) value = [value];
  return value;
}

/** Builds the objects and arrays that lead to a value, each with an innocent neighbour. */
function plant(keys: readonly (string | number)[], value: unknown, sibling: unknown): unknown {
  return keys.reduceRight<unknown>((inner, key) => {
    if (typeof key === "number") return [...Array.from({ length: key }, () => sibling), inner];
    return Object.fromEntries([
      [`${key}'`, sibling],
      [key, inner],
    ]);
  }, value);
}
