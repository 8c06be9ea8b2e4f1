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

// The worker waits for held tasks when it stops, so every gate is opened.
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

test("a hundred waiting handles and the worker of the same app share one listening connection", async () => {
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

test("a task without a waiting client has no registration", async () => {
  holdGates(0);
  const app = db.app({ tasks });
  await app.worker().start();
  const awaited = await app.send(held, 0);
  const ignored = await app.send(held, 1);
  await awaited.result({ timeoutMs: 30_000 });
  await expect.poll(async () => (await ignored.info()).status).toBe("COMPLETED");
  // A result that is read at once leaves its registration for a moment: the app deletes it beside the answer.
  await expect.poll(waiters).toBe(0);
});

test("result() leaves no registration behind, whether the task ended before or after the call", async () => {
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

test("the poll delivers a result whose notification was lost", async () => {
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

test("the listener reconnects after its connection is killed, and delivers the result", async () => {
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

test("result() rejects with WAIT_TIMEOUT after timeoutMs, and the task continues", async () => {
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

test("result() rejects with the reason of a signal that aborts, and the task continues", async () => {
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

test("result() rejects at once if its signal has already aborted", async () => {
  const handle = await db.app().send(held, 0);
  const signal = AbortSignal.abort("too late");
  await expect(handle.result({ signal })).rejects.toBe("too late");
});

test("a result() call that times out does not affect another call for the same task", async () => {
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
  "result() refuses timeoutMs %s, which a timer would misread",
  async (timeoutMs) => {
    const handle = await db.app().send(held, 0);
    await expect(handle.result({ timeoutMs: timeoutMs as number })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      problems: [{ path: "timeoutMs" }],
    });
  },
);

test("two thousand concurrent value() calls all resolve", async () => {
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
