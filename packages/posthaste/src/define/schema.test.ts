import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isSchema, type StandardSchema, validate, validateStored } from "./schema.ts";

const libraries: [string, StandardSchema][] = [
  ["zod", z.object({ items: z.array(z.object({ price: z.number() })) })],
  ["valibot", v.object({ items: v.array(v.object({ price: v.number() })) })],
  ["arktype", type({ items: type({ price: "number" }).array() })],
];

describe("schema", () => {
  describe.each(libraries)("%s", (_, schema) => {
    test("is a schema", () => expect(isSchema(schema)).toBe(true));

    test("accepts a value, without a promise", () => {
      const value = { items: [{ price: 1 }] };
      expect(validate(schema, value)).toEqual({ ok: true, value });
    });

    test("refuses a value with its path", () => {
      expect(validate(schema, { items: [{ price: 1 }, { price: "1" }] })).toEqual({
        ok: false,
        problems: [{ path: "items[1].price", message: expect.stringMatching(/number/) }],
      });
    });
  });

  test.each([
    undefined,
    null,
    7,
    {},
    () => 1,
    { "~standard": null },
    { "~standard": { version: 1 } },
  ])("isSchema is false for %s", (value) => expect(isSchema(value)).toBe(false));

  test("validate keeps the value without a schema", () => {
    const value = { any: "thing" };
    expect(validate(undefined, value)).toEqual({ ok: true, value });
  });

  test("validate returns the output of a transform", () => {
    expect(validate(z.string().transform(Number), "7")).toEqual({ ok: true, value: 7 });
  });

  test("validate returns a promise for an asynchronous schema", async () => {
    const schema = z.string().refine(async (text) => text === "yes", "say yes");
    const answer = validate(schema, "no");
    expect(answer).toBeInstanceOf(Promise);
    expect(await answer).toEqual({ ok: false, problems: [{ path: "", message: "say yes" }] });
    expect(await validate(schema, "yes")).toEqual({ ok: true, value: "yes" });
  });

  test("validate reports every problem", () => {
    const checked = validate(z.object({ a: z.string(), b: z.number() }), {});
    expect(checked).toMatchObject({ ok: false, problems: [{ path: "a" }, { path: "b" }] });
  });

  describe("validate reports a validator that throws as a problem", () => {
    const schema = (check: () => never | Promise<never>): StandardSchema => ({
      "~standard": { version: 1, vendor: "test", validate: check },
    });
    const says = {
      ok: false,
      problems: [{ path: "", message: "the schema itself threw TypeError: oops" }],
    };

    test("when it throws at once", () => {
      const throwing = schema(() => {
        throw new TypeError("oops");
      });
      expect(validate(throwing, 1)).toEqual(says);
    });

    test("when it rejects later", async () => {
      const rejecting = schema(() => Promise.reject(new TypeError("oops")));
      expect(await validate(rejecting, 1)).toEqual(says);
    });

    test("when its answer has the wrong form, at once or later", async () => {
      const odd = schema(() => undefined as never);
      expect(validate(odd, 1)).toMatchObject({ ok: false });
      const late = schema(() => Promise.resolve({ issues: 7 } as never));
      expect(await validate(late, 1)).toMatchObject({ ok: false });
    });
  });

  describe("validateStored reads a stored null of an omitted input", () => {
    test("as undefined where the schema refuses null", () => {
      const schema = z.object({ limit: z.number() }).default({ limit: 10 });
      expect(validateStored(schema, null)).toEqual({ ok: true, value: { limit: 10 } });
      expect(validateStored(z.string().optional(), null)).toEqual({ ok: true, value: undefined });
    });

    test("as null where the schema accepts it", () => {
      expect(validateStored(z.string().nullish(), null)).toEqual({ ok: true, value: null });
      expect(validateStored(undefined, null)).toEqual({ ok: true, value: null });
    });

    test("and refuses it with the problem of null where the schema refuses both", () => {
      expect(validateStored(z.string(), null)).toEqual(validate(z.string(), null));
    });

    test("with an asynchronous schema too", async () => {
      const schema = z
        .string()
        .refine(async () => true)
        .optional();
      expect(await validateStored(schema, null)).toEqual({ ok: true, value: undefined });
      expect(await validateStored(schema, "x")).toEqual({ ok: true, value: "x" });
    });
  });
});
