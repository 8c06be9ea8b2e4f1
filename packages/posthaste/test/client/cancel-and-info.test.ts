import { hostname } from "node:os";
import { expect, test } from "vitest";
import { defineTask, fail, fixed } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { gate, type Gate } from "../support/gate.ts";

const db = useDatabase();

const note = defineTask({ name: "note", run: (text: string) => text });

function heldTask(): { task: ReturnType<typeof defineHeld>; started: Gate; finish: Gate<string> } {
  const started = gate();
  const finish = gate<string>();
  return { task: defineHeld(started, finish), started, finish };
}

function defineHeld(started: Gate, finish: Gate<string>) {
  return defineTask({
    name: "held",
    run: () => {
      started.open();
      return finish.opened;
    },
  });
}

test("cancel() ends a pending task without an attempt, and result() returns TASK_CANCELLED", async () => {
  const app = db.app({ tasks: [note] });
  const handle = await app.send(note, "x");
  const waiting = handle.result({ timeoutMs: 30_000 });
  await expect.poll(async () => (await db.sql("select from posthaste.waiters")).length).toBe(1);
  expect(await handle.cancel()).toBe("cancelled");
  expect(await waiting).toMatchObject({ ok: false, error: { code: "TASK_CANCELLED" } });
  await app.worker().start();
  await (await app.send(note, "y")).value({ timeoutMs: 30_000 });
  expect(await handle.info()).toMatchObject({
    status: "CANCELLED",
    cancelledAt: expect.any(Date),
    startedAt: null,
    attempts: [],
    errorCode: "TASK_CANCELLED",
  });
});

test("cancel() ends a task that is delayed or waits for its retry", async () => {
  const busy = defineTask({
    name: "busy",
    errors: ["BUSY"],
    retry: fixed({ intervalsMs: [60_000], retryFor: ["BUSY"] }),
    run: () => fail("BUSY"),
  });
  const app = db.app({ tasks: [busy] });
  const delayed = await app.send(note, "x", { delayMs: 60_000 });
  expect(await delayed.cancel()).toBe("cancelled");

  const retried = await app.send(busy);
  await app.worker().start();
  await expect.poll(async () => (await retried.info()).retryCount).toBe(1);
  expect(await retried.cancel()).toBe("cancelled");
  expect(await retried.info()).toMatchObject({
    status: "CANCELLED",
    attempts: [{ attempt: 1, outcome: "FAILED", errorCode: "BUSY" }],
  });
});

test("a running task whose cancellation was requested ends CANCELLED even if its handler returns a value", async () => {
  const { task, started, finish } = heldTask();
  const app = db.app({ tasks: [task] });
  await app.worker().start();
  const handle = await app.send(task);
  await started.opened;
  expect(await handle.cancel()).toBe("requested");
  expect(await handle.cancel()).toBe("requested");
  expect(await handle.info()).toMatchObject({ status: "RUNNING" });
  const waiting = handle.result({ timeoutMs: 30_000 });
  finish.open("a value");
  expect(await waiting).toMatchObject({ ok: false, error: { code: "TASK_CANCELLED" } });
  expect(await handle.info()).toMatchObject({
    status: "CANCELLED",
    attempts: [{ attempt: 1, outcome: "CANCELLED" }],
  });
});

test("a running task whose cancellation was requested is not retried when its handler fails", async () => {
  const started = gate();
  const finish = gate();
  const busy = defineTask({
    name: "busy",
    errors: ["BUSY"],
    retry: fixed({ intervalsMs: [0, 0], retryFor: "any" }),
    run: async () => {
      started.open();
      await finish.opened;
      return fail("BUSY");
    },
  });
  const app = db.app({ tasks: [busy] });
  await app.worker().start();
  const handle = await app.send(busy);
  await started.opened;
  await handle.cancel();
  finish.open();
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "TASK_CANCELLED" },
  });
  expect((await handle.info()).retryCount).toBe(0);
});

test("cancel() does not change a task that has ended", async () => {
  const app = db.app({ tasks: [note] });
  await app.worker().start();
  const handle = await app.send(note, "x");
  await handle.value({ timeoutMs: 30_000 });
  expect(await handle.cancel()).toBe("finished");
  expect(await handle.value({ timeoutMs: 30_000 })).toBe("x");
});

test("info() shows a task as pending, then running, then completed", async () => {
  const { task, started, finish } = heldTask();
  const app = db.app({ tasks: [task] });
  const handle = await app.send(task, undefined, { priority: 7 });
  expect(await handle.info()).toMatchObject({
    id: handle.id,
    name: "held",
    queue: "default",
    priority: 7,
    status: "PENDING",
    claimedAt: null,
    startedAt: null,
    worker: null,
    attempts: [],
  });

  const worker = app.worker({ name: "the one" });
  await worker.start();
  await started.opened;
  const running = await handle.info();
  expect(running).toMatchObject({
    status: "RUNNING",
    worker: { id: worker.id, name: "the one", hostname: hostname(), pid: process.pid },
    attempts: [{ attempt: 1, outcome: "RUNNING", finishedAt: null, workerId: worker.id }],
  });
  expect(running.claimedAt).toEqual(running.startedAt);

  finish.open("done");
  await handle.value({ timeoutMs: 30_000 });
  const completed = await handle.info();
  expect(completed).toMatchObject({
    status: "COMPLETED",
    failedAt: null,
    cancelledAt: null,
    errorCode: null,
    retryCount: 0,
    attempts: [{ attempt: 1, outcome: "COMPLETED", willRetry: false, error: null }],
  });
  const order = [
    completed.sentAt,
    completed.enqueuedAt,
    completed.startedAt,
    completed.completedAt,
  ];
  expect(order.map(Number)).toEqual(order.map(Number).toSorted((a, b) => a - b));
});

test("info() shows the error of each attempt of a failed task", async () => {
  const moody = defineTask({
    name: "moody",
    errors: ["BUSY", "GONE"],
    retry: fixed({ intervalsMs: [0], retryFor: ["BUSY"] }),
    run: (_: null, ctx) => (ctx.attempt === 1 ? fail("BUSY", "later") : fail("GONE", "for good")),
  });
  const app = db.app({ tasks: [moody] });
  await app.worker().start();
  const handle = await app.send(moody);
  await handle.result({ timeoutMs: 30_000 });
  expect(await handle.info()).toMatchObject({
    status: "FAILED",
    failedAt: expect.any(Date),
    completedAt: null,
    errorCode: "GONE",
    retryCount: 1,
    attempts: [
      {
        attempt: 1,
        outcome: "FAILED",
        willRetry: true,
        errorCode: "BUSY",
        error: { code: "BUSY", message: "later" },
      },
      {
        attempt: 2,
        outcome: "FAILED",
        willRetry: false,
        errorCode: "GONE",
        error: { code: "GONE", message: "for good" },
      },
    ],
  });
});

test("info() reads the status and the attempts at one moment", async () => {
  const app = db.app({ tasks: [note], directStart: false });
  await app.worker({ concurrency: 4 }).start();
  const reader = db.app();
  const lasts = { PENDING: [], CLAIMED: [], RUNNING: ["RUNNING"], COMPLETED: ["COMPLETED"] };
  for (let n = 0; n < 30; n++) {
    const handles = await app.sendMany(note, ["a", "b", "c", "d"]);
    const reads = handles.flatMap(({ id }) => Array.from({ length: 5 }, () => id));
    for (const { status, attempts } of await Promise.all(
      reads.map((id) => reader.task(note, id).info()),
    ))
      expect(attempts.map(({ outcome }) => outcome)).toEqual(lasts[status as keyof typeof lasts]);
  }
});
