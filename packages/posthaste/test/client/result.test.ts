import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { defineTask, fail, TaskFailedError } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";
import { SOON_MS } from "../support/soon.ts";

const db = useDatabase();

const echo = defineTask({ name: "echo", run: (text: string) => ({ text }) });
const refuse = defineTask({
  name: "refuse",
  errors: ["NO_CREDIT"],
  run: () => fail("NO_CREDIT", "ask again in May", { cents: 5 }),
});
const tasks = [echo, refuse];

async function waiters(): Promise<number> {
  return (await db.sql("select from posthaste.waiters")).length;
}

test("result() resolves when the task ends, if it was called before", async () => {
  const app = db.app({ tasks });
  const handle = await app.send(echo, "x");
  const result = handle.result({ timeoutMs: 30_000 });
  await expect.poll(waiters).toBe(1);
  await app.worker().start();
  expect(await result).toEqual({ ok: true, value: { text: "x" } });
});

test("result() takes a small result from its notification and reads nothing", async () => {
  const app = db.app({ tasks });
  const handle = await app.send(echo, "x"); // no worker: only the notification can answer
  const result = handle.result({ timeoutMs: 30_000 });
  await expect.poll(waiters).toBe(1);
  await db.sql("select pg_notify(channel, $1) from posthaste.waiters where task_id = $2", [
    `${handle.id} COMPLETED {"text": "carried, with a comma"}`,
    handle.id,
  ]);
  expect(await result).toEqual({ ok: true, value: { text: "carried, with a comma" } });
});

test("result() reads a result that is too large for a notification", async () => {
  const app = db.app({ tasks });
  const text = "ü".repeat(20_000);
  const handle = await app.send(echo, text);
  const result = handle.result({ timeoutMs: 30_000 });
  await expect.poll(waiters).toBe(1);
  await app.worker().start();
  expect(await result).toEqual({ ok: true, value: { text } });
});

test("result() and value() resolve any number of times after the end", async () => {
  const app = db.app({ tasks });
  await app.worker().start();
  const handle = await app.send(echo, "x");
  await handle.result({ timeoutMs: 30_000 });
  expect(await handle.result({ timeoutMs: 30_000 })).toEqual({ ok: true, value: { text: "x" } });
  expect(await handle.value({ timeoutMs: 30_000 })).toEqual({ text: "x" });
});

test("result() resolves with the error of a failed task, and value() throws it", async () => {
  const app = db.app({ tasks });
  await app.worker().start();
  const handle = await app.send(refuse);
  const error = { code: "NO_CREDIT", message: "ask again in May", data: { cents: 5 } };
  expect(await handle.result({ timeoutMs: 30_000 })).toEqual({ ok: false, error });
  const thrown: unknown = await handle.value().catch((reason: unknown) => reason);
  expect(thrown).toBeInstanceOf(TaskFailedError);
  expect(thrown).toMatchObject({ code: "NO_CREDIT", taskId: handle.id, error });
});

test("a task that returns nothing has the value null", async () => {
  const nothing = defineTask({ name: "nothing", run: () => undefined });
  const app = db.app({ tasks: [nothing] });
  await app.worker().start();
  const handle = await app.send(nothing);
  expect(await handle.result({ timeoutMs: 30_000 })).toEqual({ ok: true, value: null });
});

test("a handle made from the id in another app resolves with the result", async () => {
  const sender = db.app({ tasks });
  const reader = db.app();
  const { id } = await sender.send(echo, "x");
  const result = reader.task(echo, id).result({ timeoutMs: 30_000 });
  await expect.poll(waiters).toBe(1);
  await sender.worker().start();
  expect(await result).toEqual({ ok: true, value: { text: "x" } });
  expect(await reader.task(echo, id.toUpperCase()).value({ timeoutMs: 30_000 })).toEqual({
    text: "x",
  });
});

test.each(["", "x", "0190163d-8694-739b-aea5", 5, null, undefined])(
  "app.task() throws at once if the id is %j",
  (id) => {
    expect(() => db.app().task(echo, id as string)).toThrow(
      expect.objectContaining({ code: "VALIDATION_FAILED" }),
    );
  },
);

test("every call of a handle rejects with TASK_NOT_FOUND if the task does not exist", async () => {
  const handle = db.app().task(echo, randomUUID());
  const asked = [handle.result(), handle.value(), handle.info(), handle.cancel()];
  expect(await Promise.allSettled(asked)).toMatchObject(
    asked.map(() => ({ reason: { code: "TASK_NOT_FOUND", retryable: false } })),
  );
  await expect.poll(waiters).toBe(0);
});

test("result() resolves with RESULT_NOT_AVAILABLE if the result is no longer stored", async () => {
  const app = db.app({ tasks });
  await app.worker().start();
  const handle = await app.send(echo, "x");
  await handle.result({ timeoutMs: 30_000 });
  await db.sql("update posthaste.finished_tasks set result = null where task_id = $1", [handle.id]);
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    ok: false,
    error: { code: "RESULT_NOT_AVAILABLE" },
  });
});

test("result() resolves for every waiter of one task, in one client or in two", async () => {
  const [app, other] = [db.app({ tasks }), db.app()];
  const handle = await app.send(echo, "x");
  const results = [
    handle.result({ timeoutMs: 30_000 }),
    app.task(echo, handle.id).result({ timeoutMs: 30_000 }),
    other.task(echo, handle.id).result({ timeoutMs: 30_000 }),
  ];
  await expect.poll(waiters).toBe(2);
  await app.worker().start();
  expect(await Promise.all(results)).toEqual(
    Array.from({ length: 3 }, () => ({ ok: true, value: { text: "x" } })),
  );
});

test("result() resolves at the end of the task, not with the next poll", async () => {
  const finish = gate();
  const held = defineTask({ name: "held", run: () => finish.opened });
  const app = db.app({ tasks: [held], resilience: { notifyPollIntervalMs: 60_000 } });
  await app.worker().start();
  const handle = await app.send(held);
  const result = handle.result({ timeoutMs: 30_000 });
  await expect.poll(waiters).toBe(1);
  const finishedAt = performance.now();
  finish.open();
  await result;
  expect(performance.now() - finishedAt).toBeLessThan(SOON_MS);
});

test("app.task() returns a handle with the types and the id of the task", async () => {
  const app = db.app();
  const { id } = await app.send(echo, "x");
  const { id: same } = app.task(echo, id);
  expect(same).toBe(id);
});
