import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTask, PosthasteError } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

const open = defineTask({ name: "open", run: (value: object) => Object.keys(value) });

// No test of this file stores a task.
afterEach(async () => {
  expect(await db.sql("select from posthaste.submissions")).toEqual([]);
});

async function refusal(sending: Promise<unknown>): Promise<PosthasteError> {
  const error: unknown = await sending.catch((thrown: unknown) => thrown);
  if (error instanceof PosthasteError) return error;
  throw new Error(`expected a refusal, got ${String(error)}`);
}

/** Sends the value in every way. All must refuse it for the same reason. */
async function problemsOf(value: unknown) {
  const app = db.app();
  const input = { list: [0, { deep: value }] };
  const client = { query: () => Promise.reject(new Error("nothing may be asked of the database")) };
  const errors = await Promise.all([
    refusal(app.send(open, input)),
    refusal(app.send(open, input, { key: "k" })),
    refusal(app.send(open, input, { id: crypto.randomUUID() })),
    refusal(app.send(open, input, { tx: client })),
    refusal(app.sendMany(open, [{ fine: 1 }, input])),
  ]);
  expect(errors.map(({ code }) => code)).toEqual(errors.map(() => "VALIDATION_FAILED"));
  expect(errors.map(({ retryable }) => retryable)).toEqual(errors.map(() => false));
  expect(errors[4]?.problems).toEqual(
    errors[0]?.problems.map(({ path, message }) => ({ path: `items[1].${path}`, message })),
  );
  return errors[0]?.problems ?? [];
}

function nested(depth: number): object {
  let value: object = {};
  for (let level = 1; level < depth; level++) value = { a: value };
  return value;
}

describe("every kind of send refuses an input that JSON cannot express, and names its path", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;

  test.each<[string, unknown, string, RegExp]>([
    ["\\u0000", "a\u0000b", "", /\\u0000/],
    ["\\u0000 in a key", { "a\u0000": 1 }, '["a\\u0000"]', /\\u0000/],
    ["a lone high surrogate", "\ud83d", "", /surrogate/],
    ["a lone low surrogate", "\ude00!", "", /surrogate/],
    ["NaN", Number.NaN, "", /NaN/],
    ["Infinity", Number.POSITIVE_INFINITY, "", /Infinity/],
    ["-Infinity", Number.NEGATIVE_INFINITY, "", /-Infinity/],
    ["a bigint", 5n, "", /bigint/],
    ["a function", () => 1, "", /function/],
    ["a symbol", Symbol("s"), "", /symbol/],
    ["a cycle", cyclic, ".self", /cycle/],
    ["a Date", new Date(), "", /toISOString/],
    ["a Map", new Map(), "", /Map/],
    ["undefined in an array", [undefined], "[0]", /undefined/],
    [
      "a getter that throws",
      {
        get secret() {
          throw new Error("not yours");
        },
      },
      ".secret",
      /throws when it is read/,
    ],
  ])("%s", async (_, value, where, says) => {
    const [problem, ...more] = await problemsOf(value);
    expect(problem?.path).toBe(`input.list[1].deep${where}`);
    expect(problem?.message).toMatch(says);
    expect(more).toEqual([]);
  });

  test("nesting of more than 200 levels", async () => {
    const error = await refusal(db.app().send(open, nested(201)));
    expect(error).toMatchObject({
      code: "VALIDATION_FAILED",
      problems: [{ message: expect.stringContaining("200 levels of nesting") }],
    });
  });

  test("several problems are all reported", async () => {
    const error = await refusal(db.app().send(open, { a: 1n, b: [Number.NaN], c: "\u0000" }));
    expect(error.problems.map(({ path }) => path)).toEqual(["input.a", "input.b[0]", "input.c"]);
  });
});

test("send() rejects an input over payload.rejectBytes with PAYLOAD_TOO_LARGE and both sizes", async () => {
  const app = db.app({ payload: { rejectBytes: 1_000 } });
  const error = await refusal(app.send(open, { text: "é".repeat(600) }));
  expect(error).toMatchObject({ code: "PAYLOAD_TOO_LARGE", retryable: false });
  expect(error.message).toMatch(/1211 bytes.*rejectBytes allows 1000/);
});

describe("the input schema of a task", () => {
  const order = defineTask({
    name: "order",
    input: z.object({
      id: z.string(),
      items: z.array(z.object({ price: z.number().positive() })),
    }),
    run: () => null,
  });

  test("refuses an input with VALIDATION_FAILED, all issues and their paths", async () => {
    const wrong = { items: [{ price: 1 }, { price: -1 }, { price: "2" }] };
    const error = await refusal(db.app().send(order, wrong as never));
    expect(error.code).toBe("VALIDATION_FAILED");
    expect(error.problems.map(({ path }) => path).sort()).toEqual([
      "input.id",
      "input.items[1].price",
      "input.items[2].price",
    ]);
    expect(error.message).toContain('task "order" was not sent');
  });

  test("may be asynchronous", async () => {
    const slow = defineTask({
      name: "slow",
      input: z.string().refine(async (text) => text.length > 3, "too short"),
      run: () => null,
    });
    const error = await refusal(db.app().send(slow, "abc"));
    expect(error.problems).toEqual([{ path: "input", message: "too short" }]);
  });

  test("refuses an input when it throws", async () => {
    const broken = defineTask({
      name: "broken",
      input: z.string().transform(() => {
        throw new TypeError("no such thing");
      }),
      run: () => null,
    });
    const error = await refusal(db.app().send(broken, "x"));
    expect(error.problems[0]?.message).toContain("no such thing");
  });

  test("does not admit a value that JSON cannot express", async () => {
    const loose = defineTask({ name: "loose", input: z.object({ n: z.unknown() }), run: () => 1 });
    const error = await refusal(db.app().send(loose, { n: 1n }));
    expect(error.problems.map(({ path }) => path)).toEqual(["input.n"]);
  });
});

test("send() refuses wrong options, and suggests the nearest name for an unknown one", async () => {
  const options = { prioirty: 5, delayMs: -1 };
  const error = await refusal(db.app().send(open, {}, options));
  expect(error.problems).toEqual([
    { path: "options", message: 'unknown option "prioirty"; did you mean "priority"?' },
    { path: "options.delayMs", message: expect.stringContaining("found -1") },
  ]);
});

test.each([{}, { name: "x" }, undefined, null, "open"])(
  "send() and sendMany() refuse %j as a task",
  async (task) => {
    const app = db.app();
    const given = task as unknown as typeof open;
    const errors = await Promise.all([
      refusal(app.send(given, {})),
      refusal(app.sendMany(given, [{}])),
    ]);
    for (const error of errors) {
      expect(error).toMatchObject({ code: "VALIDATION_FAILED", problems: [{ path: "task" }] });
    }
  },
);
