import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

const note = defineTask({ name: "note", run: (text: string) => text });

async function connections(name = "posthaste%"): Promise<number> {
  const rows = await db.sql(
    "select from pg_stat_activity where datname = current_database() and application_name like $1",
    [name],
  );
  return rows.length;
}

async function stateOf(workerId: string): Promise<unknown> {
  const [row] = await db.sql("select state from posthaste.workers where worker_id = $1", [
    workerId,
  ]);
  return row?.["state"];
}

test("a worker registers itself, and stop() sets its state to stopped", async () => {
  const app = db.app({ tasks: [note] });
  const worker = app.worker({ name: "one", concurrency: 3 });
  await worker.start();
  const [row] = await db.sql("select * from posthaste.workers where worker_id = $1", [worker.id]);
  expect(row).toMatchObject({
    name: "one",
    pid: process.pid,
    queues: ["default"],
    task_names: ["note"],
    concurrency: 3,
    metadata: { node: process.version },
    state: "running",
  });
  await worker.stop();
  expect(await stateOf(worker.id)).toBe("stopped");
});

test("two calls of start(), even at once, start the worker once", async () => {
  const app = db.app({ tasks: [note] });
  const worker = app.worker();
  expect(await Promise.all([worker.start(), worker.start()])).toEqual([worker, worker]);
  await worker.start();
  await (await app.send(note, "x")).value({ timeoutMs: 30_000 });
  expect(await connections("posthaste worker")).toBe(1);
  await worker.stop();
  await expect.poll(() => connections("posthaste worker")).toBe(0);
});

test("two calls of stop(), even at once, stop the worker once", async () => {
  const logger = recordingLogger();
  const worker = db.app({ tasks: [note], logger }).worker();
  await worker.start();
  await Promise.all([worker.stop(), worker.stop()]);
  await worker.stop();
  expect(logger.lines.filter(({ message }) => message === "worker stopped")).toHaveLength(1);
});

test("a worker that never started stops at once, and cannot be started afterwards", async () => {
  const worker = db.app({ tasks: [note] }).worker();
  await worker.stop();
  await expect(worker.start()).rejects.toMatchObject({ code: "CLOSED" });
  expect(await connections("posthaste worker")).toBe(0);
});

test("a worker that has stopped cannot be started again", async () => {
  const worker = db.app({ tasks: [note] }).worker();
  await worker.start();
  await worker.stop();
  await expect(worker.start()).rejects.toMatchObject({
    code: "CLOSED",
    message: expect.stringContaining("app.worker()"),
  });
});

test("stop() stops a worker that is starting", async () => {
  const app = db.app({ tasks: [note] });
  const worker = app.worker();
  const starting = worker.start();
  await worker.stop();
  await starting;
  expect(await stateOf(worker.id)).toBe("stopped");
  expect(await connections("posthaste worker")).toBe(0);
});

test("app.close() stops a worker that is starting", async () => {
  const app = db.app({ tasks: [note] });
  const starting = app.worker().start();
  await app.close();
  await Promise.allSettled([starting]);
  await expect.poll(() => connections()).toBe(0);
});

test("await using stops the worker at the end of its block", async () => {
  const app = db.app({ tasks: [note] });
  let id = "";
  {
    await using worker = await app.worker().start();
    id = worker.id;
    expect(await stateOf(id)).toBe("running");
  }
  expect(await stateOf(id)).toBe("stopped");
});

test("stopped() resolves when the worker has stopped", async () => {
  const worker = db.app({ tasks: [note] }).worker();
  await worker.start();
  let hasStopped = false;
  const stopped = worker.stopped().then(() => (hasStopped = true));
  expect(hasStopped).toBe(false);
  await worker.stop();
  await stopped;
  expect(hasStopped).toBe(true);
});

test("a hundred cycles of start and stop leave no connection and no listener on the process", async () => {
  const app = db.app({ tasks: [note] });
  const events = ["unhandledRejection", "uncaughtException", "SIGTERM", "SIGINT", "exit"];
  const listeners = () => events.map((event) => process.listenerCount(event));
  const before = listeners();
  for (let cycle = 0; cycle < 100; cycle++) {
    const worker = await app.worker().start();
    const handle = await app.send(note, "x");
    await handle.value({ timeoutMs: 30_000 });
    await worker.stop();
  }
  expect(listeners()).toEqual(before);
  await expect.poll(() => connections("posthaste worker")).toBe(0);
  expect(await connections()).toBe(3); // sends, reads, listener: the app's own
  await app.close();
  await expect.poll(() => connections()).toBe(0);
});

test("runWorker() runs until a signal and returns when the running tasks have ended and the app is closed", async () => {
  const { task, begun, finishAll } = heldTask();
  const app = db.app({ tasks: [task] });
  const others = process.listeners("SIGTERM");
  process.removeAllListeners("SIGTERM"); // the SIGTERM that is emitted below is meant for this worker only
  try {
    let isOver = false;
    const running = app.runWorker({ concurrency: 1 }).then(() => (isOver = true));
    const handle = await app.send(task, "a");
    await begun(1);
    process.emit("SIGTERM");
    await expect
      .poll(
        async () => (await db.sql("select from posthaste.workers where state = 'stopping'")).length,
      )
      .toBe(1);
    expect(isOver).toBe(false);
    finishAll();
    await running;
    expect((await db.app().task(task, handle.id).info()).status).toBe("COMPLETED");
    await expect(handle.info()).rejects.toMatchObject({ code: "CLOSED" }); // an open app would keep the process alive
    expect(process.listenerCount("SIGTERM")).toBe(0);
  } finally {
    for (const listener of others) process.on("SIGTERM", listener);
  }
});
