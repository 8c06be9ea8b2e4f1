import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTask, fail, fixed, TaskError, type Task } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";

const db = useDatabase();
useCleanTables(db);

const fine = defineTask({ name: "fine", run: (text: string) => text });

/** Runs a task to its end, and then a second task on the same worker, which must be unharmed. */
async function endOf(task: Task) {
  const app = db.app({ tasks: [task, fine] });
  await app.worker({ concurrency: 1 }).start();
  const handle = await app.send(task, null);
  const result = await handle.result({ timeoutMs: 30_000 });
  const { status, attempts, retryCount, errorCode } = await handle.info();
  const next = await app.send(fine, "unharmed");
  expect(await next.value({ timeoutMs: 30_000 })).toBe("unharmed");
  return { error: result.ok ? undefined : result.error, status, attempts, retryCount, errorCode };
}

/** A task with a handler that the compiler would refuse and that plain JavaScript may define. */
function unchecked(run: () => unknown, over: object = {}): Task {
  return { ...defineTask({ name: "unchecked", run: () => null }), ...over, run };
}

describe("fail() and TaskError", () => {
  test("a returned fail() ends the task FAILED with its code, message and data", async () => {
    const { error, status, attempts } = await endOf(
      unchecked(() => fail("NO_CREDIT", "ask again", { cents: 5 })),
    );
    expect(error).toEqual({ code: "NO_CREDIT", message: "ask again", data: { cents: 5 } });
    expect(status).toBe("FAILED");
    expect(attempts).toMatchObject([{ attempt: 1, outcome: "FAILED", errorCode: "NO_CREDIT" }]);
  });

  test("a thrown TaskError ends the task FAILED with its code, message, data and stack", async () => {
    const { error } = await endOf(
      unchecked(() => {
        throw new TaskError("NO_CREDIT", "ask again", { cents: 5 });
      }),
    );
    expect(error).toMatchObject({
      code: "NO_CREDIT",
      message: "ask again",
      data: { cents: 5 },
      cause: { name: "TaskError", stack: expect.stringContaining("failures.test.ts") },
    });
  });

  test("an invalid code is UNHANDLED_ERROR, and the message names the code", async () => {
    const { error } = await endOf(unchecked(() => fail("not a code")));
    expect(error).toMatchObject({
      code: "UNHANDLED_ERROR",
      message: expect.stringContaining('found "not a code"'),
    });
  });

  test("data that cannot be stored is replaced by the reason", async () => {
    const { error } = await endOf(unchecked(() => fail("NO_CREDIT", "m", { n: 1n } as never)));
    expect(error).toMatchObject({
      code: "NO_CREDIT",
      data: { notStorable: expect.stringContaining("n: ") },
    });
  });
});

describe("a thrown value that is not a TaskError is UNHANDLED_ERROR", () => {
  test("an Error keeps its name, message, stack and chain of causes", async () => {
    const { error, status } = await endOf(
      unchecked(() => {
        const cause = new RangeError("disk full", { cause: "sector 7" });
        throw new TypeError("cannot save", { cause });
      }),
    );
    expect(status).toBe("FAILED");
    expect(error).toMatchObject({
      code: "UNHANDLED_ERROR",
      message: "cannot save",
      cause: {
        name: "TypeError",
        message: "cannot save",
        stack: expect.stringContaining("failures.test.ts"),
        cause: {
          name: "RangeError",
          message: "disk full",
          cause: { name: "string", message: "sector 7" },
        },
      },
    });
  });

  test("a rejected promise is UNHANDLED_ERROR", async () => {
    const { error } = await endOf(unchecked(() => Promise.reject(new Error("later"))));
    expect(error).toMatchObject({ code: "UNHANDLED_ERROR", message: "later" });
  });

  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();

  test.each<[string, unknown, string]>([
    ["a string", "no luck", "a string was thrown: no luck"],
    ["undefined", undefined, "undefined was thrown"],
    ["null", null, "null was thrown"],
    ["a number", 42, "a number was thrown: 42"],
    ["an object", { status: 500 }, 'an object was thrown: {"status":500}'],
    ["a cyclic object", cyclic, "an object was thrown: [object Object]"],
    ["an object without a prototype", Object.create(null), "an object was thrown: {}"],
    ["a text that PostgreSQL cannot store", "a\u0000\ud800", "a string was thrown: a\uFFFD\uFFFD"],
    ["a revoked proxy", proxy, expect.stringContaining("throws when it is read")],
  ])("the message describes %s", async (_, thrown, message) => {
    const { error } = await endOf(
      unchecked(() => {
        // oxlint-disable-next-line typescript/only-throw-error -- the case under test
        throw thrown;
      }),
    );
    expect(error).toMatchObject({ code: "UNHANDLED_ERROR", message });
  });
});

describe("a value that cannot be stored is WORKER_SERIALIZATION_ERROR", () => {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);

  test.each<[string, unknown]>([
    ["a bigint", { total: 5n }],
    ["a cycle", cyclic],
    ["a function", () => 1],
    ["NaN", { rate: Number.NaN }],
    ["\\u0000", "a\u0000"],
    ["a lone surrogate", "\ud800"],
    ["a Date", new Date()],
  ])("%s cannot be stored", async (_, value) => {
    const { error, attempts } = await endOf(unchecked(() => value));
    expect(error?.code).toBe("WORKER_SERIALIZATION_ERROR");
    expect(attempts).toHaveLength(1);
  });

  test('retryFor "any" does not retry WORKER_SERIALIZATION_ERROR, because the handler would fail again', async () => {
    const retry = fixed({ intervalsMs: [0, 0], retryFor: "any" });
    const { attempts } = await endOf(unchecked(() => 5n, { retry }));
    expect(attempts).toHaveLength(1);
  });

  test("retryFor retries WORKER_SERIALIZATION_ERROR if it names the code", async () => {
    const retry = fixed({ intervalsMs: [0, 0], retryFor: ["WORKER_SERIALIZATION_ERROR"] });
    const { attempts, retryCount } = await endOf(unchecked(() => 5n, { retry }));
    expect(attempts).toHaveLength(3);
    expect(retryCount).toBe(2);
  });
});

describe("a task that fails before its handler starts counts no attempt", () => {
  test("a name that the worker does not know is WORKER_RESOLUTION_ERROR", async () => {
    const app = db.app({ tasks: [fine], unknownTasks: "fail" });
    await app.worker({ concurrency: 1 }).start();
    const handle = await app.send(defineTask({ name: "constructor" }), undefined);
    expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
      error: {
        code: "WORKER_RESOLUTION_ERROR",
        message: 'this worker has no handler for a task named "constructor"',
      },
    });
    expect(await handle.info()).toMatchObject({ status: "FAILED", startedAt: null, attempts: [] });
    expect(await (await app.send(fine, "next")).value({ timeoutMs: 30_000 })).toBe("next");
  });

  test("a stored input that the schema refuses is ARGUMENT_TYPE_MISMATCH", async () => {
    let hasRun = false;
    const strict = defineTask({
      name: "strict",
      input: z.object({ a: z.number() }),
      run: () => {
        hasRun = true;
        return null;
      },
    });
    const app = db.app({ tasks: [strict, fine] });
    await app.worker({ concurrency: 1 }).start();
    const [row] = await db.sql<{ id: string }>(
      `select posthaste.send('strict', '{"a": "5"}') as id`,
    );
    const handle = app.task(strict, row?.id ?? "");
    expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
      error: { code: "ARGUMENT_TYPE_MISMATCH", message: expect.stringContaining("a: ") },
    });
    expect(await handle.info()).toMatchObject({ status: "FAILED", startedAt: null, attempts: [] });
    expect(hasRun).toBe(false);
    expect(await (await app.send(fine, "next")).value({ timeoutMs: 30_000 })).toBe("next");
  });

  test("a retry of WORKER_RESOLUTION_ERROR counts no attempt", async () => {
    const retry = fixed({ intervalsMs: [0, 0], retryFor: ["WORKER_RESOLUTION_ERROR"] });
    const unknown = defineTask({ name: "unknown", retry });
    const app = db.app({ tasks: [fine], unknownTasks: "fail" });
    await app.worker({ concurrency: 1 }).start();
    const handle = await app.send(unknown);
    await handle.result({ timeoutMs: 30_000 });
    expect(await handle.info()).toMatchObject({ status: "FAILED", retryCount: 2, attempts: [] });
  });
});

test("a value that the output schema refuses is RETURN_TYPE_MISMATCH", async () => {
  const output = z.object({ total: z.number() });
  const { error, attempts } = await endOf(unchecked(() => ({ total: "5" }), { output }));
  expect(error).toMatchObject({
    code: "RETURN_TYPE_MISMATCH",
    message: expect.stringContaining("total: "),
  });
  expect(attempts).toHaveLength(1);
});

test("a result above payload.rejectBytes is WORKER_SERIALIZATION_ERROR, and a result above warnBytes is logged once", async () => {
  const logger = recordingLogger();
  const task = defineTask({ name: "large", run: (bytes: number) => "x".repeat(bytes) });
  const payload = { warnBytes: 1_000, rejectBytes: 5_000 };
  const app = db.app({ tasks: [task], payload, logger });
  await app.worker().start();
  for (let n = 0; n < 2; n++) await (await app.send(task, 2_000)).value({ timeoutMs: 30_000 });
  const result = await (await app.send(task, 6_000)).result({ timeoutMs: 30_000 });
  expect(result).toMatchObject({ error: { code: "WORKER_SERIALIZATION_ERROR" } });
  expect(JSON.stringify(result)).toContain("payload.rejectBytes allows 5000");
  const said = logger.lines.filter(({ message }) => message.includes("result is large"));
  expect(said).toMatchObject([{ level: "warn", fields: { name: "large", bytes: 2_002 } }]);
});

test("the stored message and data of an error are limited in size", async () => {
  const task = defineTask({
    name: "large-error",
    errors: ["BROKEN"],
    run: () => fail("BROKEN", "m".repeat(100_000), { text: "d".repeat(300_000) }),
  });
  const app = db.app({ tasks: [task] });
  await app.worker().start();
  const result = await (await app.send(task)).result({ timeoutMs: 30_000 });
  expect(JSON.stringify(result).length).toBeLessThan(20_000);
  expect(JSON.stringify(result)).toContain("262144 are kept");
});
