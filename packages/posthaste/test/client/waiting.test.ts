import { afterEach, expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { gate, type Gate } from "../support/gate.ts";
import { SOON_MS } from "../support/soon.ts";

const db = useDatabase();

const gates: Gate[] = [];
const held = defineTask({
  name: "held",
  run: async (n: number) => {
    await gates[n]?.opened;
    return n;
  },
});
const tasks = [held];

function holdGates(count: number): void {
  gates.splice(0, gates.length, ...Array.from({ length: count }, () => gate()));
}

// Whatever a test held back must end, or the worker waits for it.
afterEach(() => gates.forEach((each) => each.open()));

async function waiters(): Promise<number> {
  return (await db.sql("select from posthaste.waiters")).length;
}

async function listeners(): Promise<number> {
  const rows = await db.sql(
    `select from pg_stat_activity where datname = current_database() and application_name = 'posthaste listener'`,
  );
  return rows.length;
}

test("a hundred handles that wait share one listening connection, with the worker of the same app", async () => {
  holdGates(1);
  const app = db.app({ tasks });
  await app.worker({ concurrency: 100 }).start();
  const handles = await app.sendMany(
    held,
    Array.from({ length: 100 }, () => 0),
  );
  const results = handles.map((handle) => handle.result({ timeoutMs: 30_000 }));
  await expect.poll(waiters).toBe(100);
  expect(await listeners()).toBe(1);
  gates[0]?.open();
  expect((await Promise.all(results)).every(({ ok }) => ok)).toBe(true);
});

test("nobody is registered for a task that nobody waits for, and nobody is told of its end", async () => {
  holdGates(0);
  const app = db.app({ tasks });
  await app.worker().start();
  const awaited = await app.send(held, 0);
  const ignored = await app.send(held, 1);
  await awaited.result({ timeoutMs: 30_000 });
  await expect.poll(async () => (await ignored.info()).status).toBe("COMPLETED");
  expect(await waiters()).toBe(0);
});

test("who waited leaves no registration behind, whether the task ended before or after it asked", async () => {
  holdGates(1);
  const app = db.app({ tasks });
  await app.worker().start();
  const running = await app.send(held, 0);
  const result = running.result({ timeoutMs: 30_000 });
  await expect.poll(waiters).toBe(1);
  gates[0]?.open();
  await result;
  await running.result({ timeoutMs: 30_000 });
  await expect.poll(waiters).toBe(0);
});

test("a notification that gets lost is covered by the poll", async () => {
  holdGates(1);
  const app = db.app({ tasks, resilience: { notifyPollIntervalMs: 1_000 } });
  await app.worker().start();
  const handle = await app.send(held, 0);
  const result = handle.result({ timeoutMs: 30_000 });
  await expect.poll(waiters).toBe(1);
  await db.sql("delete from posthaste.waiters");
  gates[0]?.open();
  expect(await result).toEqual({ ok: true, value: 0 });
});

test("a listener whose connection is killed comes back, and the result with it", async () => {
  holdGates(1);
  const app = db.app({ tasks, resilience: { notifyPollIntervalMs: 60_000 } });
  await app.worker().start();
  const handle = await app.send(held, 0);
  const result = handle.result({ timeoutMs: 30_000 });
  await expect.poll(waiters).toBe(1);
  const killedAt = performance.now();
  await db.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'posthaste listener'`,
  );
  gates[0]?.open();
  expect(await result).toEqual({ ok: true, value: 0 });
  expect(performance.now() - killedAt).toBeLessThan(SOON_MS);
});

test("timeoutMs is WAIT_TIMEOUT and says nothing about the task, which ends as if nobody had waited", async () => {
  holdGates(1);
  const app = db.app({ tasks });
  await app.worker().start();
  const handle = await app.send(held, 0);
  await expect(handle.result({ timeoutMs: 50 })).rejects.toMatchObject({
    code: "WAIT_TIMEOUT",
    retryable: true,
    message: expect.stringContaining("50 ms"),
  });
  gates[0]?.open();
  expect(await handle.value({ timeoutMs: 30_000 })).toBe(0);
});

test("a signal that aborts rejects with its reason, and the task goes on", async () => {
  holdGates(1);
  const app = db.app({ tasks });
  await app.worker().start();
  const handle = await app.send(held, 0);
  const controller = new AbortController();
  const reason = new Error("the user went away");
  const waiting = handle.result({ signal: controller.signal });
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  gates[0]?.open();
  expect(await handle.value({ timeoutMs: 30_000 })).toBe(0);
});

test("a signal that has aborted before rejects at once", async () => {
  const handle = await db.app().send(held, 0);
  const signal = AbortSignal.abort("too late");
  await expect(handle.result({ signal })).rejects.toBe("too late");
});

test("one waiter that gives up does not take the other's result away", async () => {
  holdGates(1);
  const app = db.app({ tasks });
  await app.worker().start();
  const handle = await app.send(held, 0);
  const patient = handle.result({ timeoutMs: 30_000 });
  await expect(handle.result({ timeoutMs: 20 })).rejects.toMatchObject({ code: "WAIT_TIMEOUT" });
  gates[0]?.open();
  expect(await patient).toEqual({ ok: true, value: 0 });
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, "5s", null])(
  "timeoutMs %s is refused, because a timer would take it for something else",
  async (timeoutMs) => {
    const handle = await db.app().send(held, 0);
    await expect(handle.result({ timeoutMs: timeoutMs as number })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      problems: [{ path: "timeoutMs" }],
    });
  },
);

test("two thousand waits at once all get their result", async () => {
  holdGates(0);
  const app = db.app({ tasks });
  const handles = await app.sendMany(
    held,
    Array.from({ length: 2_000 }, (_, n) => n),
  );
  const values = Promise.all(handles.map((handle) => handle.value({ timeoutMs: 30_000 })));
  await app.worker({ concurrency: 50 }).start();
  expect(await values).toEqual(Array.from({ length: 2_000 }, (_, n) => n));
});
