/** The kit as a user's test file has it. */
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { defineTask, exponential, fail, fixed, posthaste } from "../../src/index.ts";
import { testKit, type TestKit } from "../../src/testing/index.ts";
import { brokenLaws, type BrokenLaw } from "../support/broken-laws.ts";
import { silentLogger } from "../support/loggers.ts";
import { gate, type Gate } from "../support/gate.ts";

let kit: TestKit;
let client: pg.Client;

const add = defineTask({
  name: "add",
  run: ({ a, b }: { a: number; b: number }) => a + b,
});
const echo = defineTask({ name: "echo", run: (n: number) => n });
const parent = defineTask({
  name: "parent",
  run: async (children: number) => {
    for (let n = 0; n < children; n++) await kit.app.send(add, { a: n, b: n });
    return children;
  },
});
const elsewhere = defineTask({ name: "elsewhere", queue: "other", run: () => "there" });
const flaky = defineTask({
  name: "flaky",
  errors: ["DOWN"],
  retry: fixed({ intervalsMs: [0, 60_000], retryFor: ["DOWN"], jitter: false }),
  run: (_input: null, ctx) => (ctx.attempt < 3 ? fail("DOWN") : "up"),
});
let held: Gate;
const stuck = defineTask({
  name: "stuck",
  run: async (_input: null, ctx) => {
    ctx.signal.addEventListener("abort", () => held.open());
    await held.opened;
  },
});
const tasks = [add, echo, parent, elsewhere, flaky, stuck];

beforeAll(async () => {
  kit = await testKit({ tasks, url: inject("serverUrl") });
  client = new pg.Client(kit.url);
  await client.connect();
});

beforeEach(() => {
  held = gate();
});

afterEach(async () => {
  const ask = async (text: string) => (await client.query<BrokenLaw>(text)).rows;
  expect(await brokenLaws(ask)).toEqual([]);
});

afterAll(async () => {
  await client.end();
  await kit.close();
});

describe("runUntilIdle", () => {
  test("runs what is due and tells how it ended", async () => {
    const { id } = await kit.app.send(add, { a: 2, b: 3 });

    expect(await kit.runUntilIdle()).toEqual([
      { task: "add", id, status: "COMPLETED", attempts: 1, result: 5 },
    ]);
    expect(await kit.runUntilIdle()).toEqual([]);
  });

  test("runs what tasks send", async () => {
    await kit.app.send(parent, 3);

    const ran = await kit.runUntilIdle();

    expect(ran.map(({ task, result }) => [task, result])).toEqual([
      ["parent", 3],
      ["add", 0],
      ["add", 2],
      ["add", 4],
    ]);
  });

  test("serves the queues of the app's tasks, and any other in which something is due", async () => {
    await kit.app.send(elsewhere);
    await kit.app.send(add, { a: 1, b: 1 }, { queue: "nobody-said" });

    expect(await kit.runUntilIdle()).toMatchObject([{ result: "there" }, { result: 2 }]);
  });

  test("runs retries that are due now, and leaves those that are not", async () => {
    const { id } = await kit.app.send(flaky);

    expect(await kit.runUntilIdle()).toMatchObject([
      { id, status: "PENDING", attempts: 2, error: { code: "DOWN" } },
    ]);
    await kit.advance(59_000);
    expect(await kit.runUntilIdle()).toEqual([]);
    await kit.advance(1_000);
    expect(await kit.runUntilIdle()).toMatchObject([
      { id, status: "COMPLETED", attempts: 3, result: "up" },
    ]);
  });

  test("with concurrency 1 keeps the order of the line", async () => {
    await kit.app.send(add, { a: 1, b: 0 }, { priority: 90 });
    await kit.app.send(add, { a: 2, b: 0 }, { priority: 10 });

    expect(await kit.runUntilIdle({ concurrency: 1 })).toMatchObject([
      { result: 2 },
      { result: 1 },
    ]);
  });

  test("says what is left when time is up, and goes on where it was afterwards", async () => {
    const { id } = await kit.app.send(stuck);

    const error: unknown = await kit.runUntilIdle({ timeoutMs: 300 }).catch((e: unknown) => e);

    expect(error).toMatchObject({ code: "WAIT_TIMEOUT" });
    expect(String(error)).toContain("still unfinished after 300 ms, 1 left");
    expect(String(error)).toContain(`"stuck" is RUNNING in queue "default", attempt 1: ${id}`);
    await held.opened; // the signal was aborted
    expect(await kit.runUntilIdle()).toEqual([]);
    expect(await kit.app.task(stuck, id).info()).toMatchObject({ status: "COMPLETED" });
  });

  test("a name that nobody knows fails at once", async () => {
    await kit.app.send(defineTask({ name: "unknown" }));

    expect(await kit.runUntilIdle()).toMatchObject([
      {
        task: "unknown",
        status: "FAILED",
        attempts: 0,
        error: { code: "WORKER_RESOLUTION_ERROR" },
      },
    ]);
  });

  test("refuses options that it does not know", async () => {
    const options = { timeoutMs: 0, timeout: 5 };
    await expect(kit.runUntilIdle(options)).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      problems: [{ path: "options" }, { path: "options.timeoutMs" }],
    });
  });
});

describe("advance", () => {
  test("brings delays nearer, by exactly that much", async () => {
    const late = await kit.app.send(add, { a: 1, b: 1 }, { delayMs: 3_600_000 });
    const before = await late.info();

    await kit.advance(3_000_000);
    expect((await late.info()).enqueuedAt.getTime()).toBe(before.enqueuedAt.getTime() - 3_000_000);
    expect(await kit.runUntilIdle()).toEqual([]);

    await kit.advance(600_000);
    expect(await kit.runUntilIdle()).toMatchObject([{ id: late.id, result: 2 }]);
  });

  test("a task that waits can be cancelled and found as before", async () => {
    const late = await kit.app.send(add, { a: 1, b: 1 }, { delayMs: 60_000, key: "found" });
    await kit.advance(1_000);

    expect((await late.info()).status).toBe("PENDING");
    expect((await kit.app.send(add, { a: 1, b: 1 }, { key: "found" })).id).toBe(late.id);
    expect(await late.cancel()).toBe("cancelled");
  });

  test("brings deadlines nearer: what is not due by then expires, what is due runs", async () => {
    const inAnHour = () => new Date(Date.now() + 3_600_000);
    const never = await kit.app.send(
      add,
      { a: 1, b: 1 },
      { delayMs: 3_590_000, goodUntil: inAnHour() },
    );
    const inTime = await kit.app.send(add, { a: 2, b: 2 }, { goodUntil: inAnHour() });

    await kit.advance(3_000_000);
    expect(await kit.runUntilIdle()).toMatchObject([{ id: inTime.id, status: "COMPLETED" }]);
    await kit.advance(600_000);
    expect(await kit.runUntilIdle()).toMatchObject([
      { id: never.id, status: "EXPIRED", attempts: 0, error: { code: "TASK_EXPIRED" } },
    ]);
  });

  test("wakes a worker of the test's own", async () => {
    await using worker = await kit.app.worker().start();
    const late = await kit.app.send(add, { a: 4, b: 4 }, { delayMs: 3_600_000 });

    await kit.advance(3_600_000);

    expect(await late.value({ timeoutMs: 30_000 })).toBe(8);
    await worker.stop();
  });

  test("while workers claim and senders send, every task runs once", async () => {
    await using worker = kit.app.worker({ concurrency: 4 });
    await worker.start();
    const inputs = Array.from({ length: 300 }, (_, n) => ({ input: n, delayMs: 1_000 + n }));
    const sending = (async () => {
      for (let at = 0; at < inputs.length; at += 30) {
        await kit.app.sendMany(echo, inputs.slice(at, at + 30));
      }
    })();
    for (let n = 0; n < 20; n++) await kit.advance(100);
    await sending;
    await kit.advance(2_000);
    await kit.runUntilIdle();

    const { rows } = await client.query(
      `select count(*)::int as tasks, sum(result::int)::int as sum, max(attempt_no) as runs
         from posthaste.tasks where name = 'echo' and status = 'COMPLETED'`,
    );
    expect(rows).toEqual([{ tasks: 300, sum: (299 * 300) / 2, runs: 1 }]);
  });

  test("says so when an open transaction is in the way", async () => {
    await client.query("begin");
    await kit.app.send(add, { a: 1, b: 1 }, { tx: client });

    const error: unknown = await kit.advance(1).catch((e: unknown) => e);
    await client.query("rollback");

    expect(error).toMatchObject({ code: "WAIT_TIMEOUT" });
    expect(String(error)).toContain("commit it or roll it back before advance()");
  });

  test.each([-1, 0.5, Number.NaN, Infinity, "5" as unknown as number])("refuses %s", async (ms) => {
    await expect(kit.advance(ms)).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  });
});

describe("the kit", () => {
  test("is disposed of with its database, its workers and its app", async () => {
    let url: string;
    {
      await using short = await testKit({ tasks, url: inject("serverUrl"), schema: "jobs" });
      url = short.url;
      await short.app.send(add, { a: 1, b: 1 });
      expect(await short.runUntilIdle()).toHaveLength(1);
      await short.app.worker().start();
    }
    const app = posthaste({ database: url, logger: silentLogger });
    await expect(app.ensureSchema()).rejects.toThrow("no such database");
    await app.close();
  });

  test("refuses a config before it makes anything", async () => {
    const wrong = { schema: "No Such", tasks: [add, add] };
    await expect(testKit({ ...wrong, url: inject("serverUrl") })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      problems: [{ path: "schema" }, { path: "tasks[1]" }],
    });
  });

  test("keeps to the queues that are configured", async () => {
    const far = defineTask({ name: "far", queue: "slow", run: () => "done" });
    await using small = await testKit({
      tasks: [far],
      queues: { slow: {} },
      url: inject("serverUrl"),
    });
    await small.app.send(far);

    expect(await small.runUntilIdle()).toMatchObject([{ result: "done" }]);
  });

  test("retries with jitter are due after a quarter more than their delay", async () => {
    const shaky = defineTask({
      name: "shaky",
      retry: exponential({ baseMs: 10_000, maxRetries: 1, retryFor: "any" }),
      run: (_input: null, ctx) => {
        if (ctx.attempt === 1) throw new Error("once");
        return "well";
      },
    });
    await using small = await testKit({ tasks: [shaky], url: inject("serverUrl") });
    await small.app.send(shaky);
    await small.runUntilIdle();
    await small.advance(12_500);

    expect(await small.runUntilIdle()).toMatchObject([{ result: "well", attempts: 2 }]);
  });
});
