import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTask } from "../../define/define-task.ts";
import type { AnyTask } from "../../define/task.ts";
import type { TaskContext } from "../../define/task-context.ts";
import { fail, TaskError } from "../../domain/result.ts";
import { executeTask } from "./execute-task.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const context: TaskContext = {
  taskId: "t",
  name: "n",
  queue: "default",
  attempt: 1,
  workerId: "w",
  claimId: "c",
  signal: new AbortController().signal,
  log: silent,
  context: undefined,
  workflow: undefined,
  progress: () => undefined,
  transaction: () => Promise.reject(new Error("not in this test")),
  complete: () => Promise.reject(new Error("not in this test")),
  send: () => Promise.reject(new Error("not in this test")),
};

const execute = (task: AnyTask | undefined, input: string) =>
  executeTask({ task, name: "n", input, context, resultLimit: 1_000 });

/** A handler that the compiler would not let through: what plain JavaScript may do. */
function returning(run: (input: unknown) => unknown): AnyTask {
  return { ...defineTask({ name: "n", run: () => null }), run };
}

describe("executeTask", () => {
  test("returns the value as JSON text", async () => {
    const task = defineTask({ name: "n", run: ({ a }: { a: number }) => ({ twice: a * 2 }) });
    expect(await execute(task, '{"a":4}')).toMatchObject({
      ran: true,
      ok: true,
      value: '{"twice":8}',
    });
  });

  test("returns null when the handler returns nothing", async () => {
    expect(
      await execute(
        returning(() => undefined),
        "null",
      ),
    ).toMatchObject({ ok: true, value: "null" });
  });

  describe("before the handler", () => {
    test("fails an unknown task with WORKER_RESOLUTION_ERROR, without an attempt", async () => {
      expect(await execute(undefined, "null")).toEqual({
        ran: false,
        ok: false,
        error: {
          code: "WORKER_RESOLUTION_ERROR",
          message: 'this worker has no handler for a task named "n"',
        },
      });
    });

    test("fails an input that is not JSON with WORKER_SERIALIZATION_ERROR, without an attempt", async () => {
      const { ran, ...ended } = await execute(
        returning(() => 1),
        "{",
      );
      expect(ran).toBe(false);
      expect(ended).toMatchObject({ error: { code: "WORKER_SERIALIZATION_ERROR" } });
    });

    test("fails a refused stored input with ARGUMENT_TYPE_MISMATCH and its path", async () => {
      const task = defineTask({
        name: "n",
        input: z.object({ items: z.array(z.object({ price: z.number() })) }),
        run: () => 1,
      });
      const { ran, ...ended } = await execute(task, '{"items":[{"price":"5"}]}');
      expect(ran).toBe(false);
      expect(ended).toMatchObject({
        error: {
          code: "ARGUMENT_TYPE_MISMATCH",
          message: expect.stringContaining("items[0].price: "),
        },
      });
    });

    test("passes an omitted input to a schema that allows it", async () => {
      const task = defineTask({
        name: "n",
        input: z.string().optional(),
        run: (to) => to ?? "nobody",
      });
      expect(await execute(task, "null")).toMatchObject({ ok: true, value: '"nobody"' });
    });

    test("gives the handler the output of the input schema", async () => {
      const task = defineTask({
        name: "n",
        input: z.string().transform(Number),
        run: (n) => n + 1,
      });
      expect(await execute(task, '"41"')).toMatchObject({ ok: true, value: "42" });
    });
  });

  describe("when the handler fails the task", () => {
    test.each<[string, () => unknown]>([
      ["returned", () => fail("GONE", "no such user", { id: 7 })],
      ["resolved", async () => fail("GONE", "no such user", { id: 7 })],
      [
        "thrown",
        () => {
          throw new TaskError("GONE", "no such user", { id: 7 });
        },
      ],
      ["rejected", () => Promise.reject(new TaskError("GONE", "no such user", { id: 7 }))],
    ])("%s", async (_, run) => {
      expect(await execute(returning(run), "null")).toMatchObject({
        ran: true,
        ok: false,
        error: { code: "GONE", message: "no such user", data: { id: 7 } },
      });
    });

    test.each(["gone", "", "TypeError", 5, undefined, null])(
      "turns an invalid code (%j) into UNHANDLED_ERROR and says why",
      async (code) => {
        const ended = await execute(
          returning(() => fail(code as string)),
          "null",
        );
        expect(ended).toMatchObject({
          ok: false,
          error: {
            code: "UNHANDLED_ERROR",
            message: expect.stringContaining("fail() needs an UPPER_SNAKE_CASE code"),
          },
        });
      },
    );

    test.each<[string, unknown]>([
      ["a bigint", { n: 1n }],
      ["a Date", new Date()],
      ["\\u0000", "a\u0000b"],
      ["NaN", [Number.NaN]],
    ])("names data that cannot be stored (%s) in its place and keeps the code", async (_, data) => {
      const ended = await execute(
        returning(() => fail("GONE", "m", data as null)),
        "null",
      );
      expect(ended).toMatchObject({
        error: {
          code: "GONE",
          message: "m",
          data: { notStorable: expect.stringContaining("cannot be stored as JSON") },
        },
      });
    });

    test("repairs a message that cannot be stored", async () => {
      const ended = await execute(
        returning(() => fail("GONE", "a\u0000b")),
        "null",
      );
      expect(ended).toMatchObject({ error: { code: "GONE", message: "a\uFFFDb" } });
    });
  });

  describe("when the handler throws: UNHANDLED_ERROR", () => {
    test.each<[string, unknown, string]>([
      ["an error", new RangeError("too far"), "too far"],
      ["a string", "no luck", "a string was thrown: no luck"],
      ["undefined", undefined, "undefined was thrown"],
      ["null", null, "null was thrown"],
      ["a number", 42, "a number was thrown: 42"],
      ["an object", { a: 1 }, 'an object was thrown: {"a":1}'],
    ])("%s", async (_, thrown, message) => {
      const run = () => {
        // oxlint-disable-next-line typescript/only-throw-error -- the case under test
        throw thrown;
      };
      expect(await execute(returning(run), "null")).toMatchObject({
        ran: true,
        error: { code: "UNHANDLED_ERROR", message },
      });
    });

    test("records a thrown value that cannot be inspected", async () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      for (const run of [() => Promise.reject(proxy), () => proxy]) {
        expect(await execute(returning(run), "null")).toMatchObject({
          ran: true,
          error: { code: "UNHANDLED_ERROR" },
        });
      }
    });
  });

  describe("when the result cannot be stored", () => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);

    test.each<[string, unknown, string]>([
      ["a bigint", { total: 5n }, "total: "],
      ["a cycle", cyclic, "[0]: "],
      ["a function", { onDone: () => 1 }, "onDone: "],
      ["NaN", [1, Number.NaN], "[1]: "],
      ["a lone surrogate", { name: "\ud800" }, "name: "],
    ])("fails %s with WORKER_SERIALIZATION_ERROR and its path", async (_, value, path) => {
      expect(
        await execute(
          returning(() => value),
          "null",
        ),
      ).toMatchObject({
        ran: true,
        error: { code: "WORKER_SERIALIZATION_ERROR", message: expect.stringContaining(path) },
      });
    });

    test("fails a value that the output schema refuses with RETURN_TYPE_MISMATCH and its path", async () => {
      const output = z.object({ total: z.number() });
      const task = { ...returning(() => ({ total: "5" })), output };
      expect(await execute(task, "null")).toMatchObject({
        ran: true,
        error: { code: "RETURN_TYPE_MISMATCH", message: expect.stringContaining("total: ") },
      });
    });
  });
});
