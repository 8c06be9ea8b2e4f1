import { afterEach, beforeEach, expect, test } from "vitest";
import { posthaste, PosthasteError } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";
import {
  collatz,
  exitOnce,
  heeding,
  sendNote,
  spin,
  spinForAWhile,
  tasks,
  wholeContext,
} from "./apps/shop.ts";
import { watchFor } from "./pool.ts";

const db = useDatabase();
const file = new URL("apps/shop.ts", import.meta.url);
const timeoutMs = 30_000;

// Threads have the environment of their process.
const before = process.env["DATABASE_URL"];
beforeEach(() => (process.env["DATABASE_URL"] = db.url));
afterEach(() => {
  if (before === undefined) delete process.env["DATABASE_URL"];
  else process.env["DATABASE_URL"] = before;
});

test("a worker runs blocking tasks on threads, and types hold", async () => {
  const app = db.app({ tasks, file });
  await app.worker().start();
  const handle = await app.send(collatz, { from: 27 });
  const steps: number = await handle.value({ timeoutMs });
  expect(steps).toBe(111);
});

test("a task on a thread may send", async () => {
  const app = db.app({ tasks, file });
  await app.worker().start();
  const { id, threadId } = await (await app.send(sendNote, "hello")).value({ timeoutMs });
  expect(threadId).toBeGreaterThan(0);
  const sent = app.task(sendNote, id);
  expect(await sent.result({ timeoutMs })).toEqual({ ok: true, value: "hello" });
});

test("a task that ends its thread is retried by its policy", async () => {
  const app = db.app({ tasks, file });
  await app.worker().start();
  const handle = await app.send(exitOnce);
  expect(await handle.result({ timeoutMs })).toEqual({ ok: true, value: 2 });
  const { attempts } = await handle.info();
  expect(attempts).toMatchObject([
    { error: { code: "UNHANDLED_ERROR", message: "the task called process.exit(3)" } },
    {},
  ]);
});

test("a worker that stops gives a spinning task back, and its thread is gone", async () => {
  const line = watchFor(/spinning/);
  const app = db.app({ tasks, file, logger: line.log });
  const worker = await app.worker({ shutdownGraceMs: 0 }).start();
  const handle = await app.send(spin);
  await line.said;
  await worker.stop();
  expect(await handle.info()).toMatchObject({ status: "PENDING" });
  const { workers } = process.report.getReport() as unknown as { workers: readonly object[] };
  expect(workers.length).toBeLessThanOrEqual(1); // the one that writes heartbeats is kept for a moment
  await handle.cancel();
});

test("a body on a thread has the whole ctx: context, progress, send, transaction", async () => {
  const app = db.app({ tasks, file });
  await app.worker().start();
  const handle = await app.send(wholeContext);
  const { alone, together, five, isOwnContext } = await handle.value({ timeoutMs });
  expect({ five, isOwnContext }).toEqual({ five: 5, isOwnContext: true });
  expect(await handle.progress()).toEqual({ half: "done" });
  for (const id of [alone, together]) {
    expect(await app.task(wholeContext, id).result({ timeoutMs })).toMatchObject({ ok: true });
  }
  expect((await handle.info()).attempts).toMatchObject([{ outcome: "COMPLETED" }]);
});

test("a spinning task is terminated at its timeout, and its slot is free", async () => {
  const app = db.app({ tasks, file });
  await app.worker({ concurrency: 1 }).start();
  await (await app.send(collatz, { from: 1 })).value({ timeoutMs }); // the thread is warm
  const handle = await app.send(spinForAWhile);
  expect(await handle.result({ timeoutMs })).toMatchObject({ error: { code: "TASK_TIMEOUT" } });
  const next = await app.send(collatz, { from: 27 });
  expect(await next.value({ timeoutMs })).toBe(111);
});

test.each([
  ["one that looks at its signal", heeding, /looking/],
  ["one that does not", spin, /spinning/],
])("a running blocking task that is cancelled ends CANCELLED: %s", async (_, task, says) => {
  const line = watchFor(says);
  const app = db.app({ tasks, file, logger: line.log });
  await app.worker({ concurrency: 1 }).start();
  const handle = await app.send(task);
  await line.said;
  expect(await handle.cancel()).toBe("requested");
  expect(await handle.result({ timeoutMs })).toMatchObject({ error: { code: "TASK_CANCELLED" } });
  expect((await handle.info()).status).toBe("CANCELLED");
});

test("a worker with blocking tasks and no file to load them from is refused, with every other mistake", () => {
  // Called by Array.map, so by no file.
  const [app] = [{ tasks, database: db.url, logger: silentLogger }].map(posthaste);
  const make = (): unknown => app?.worker({ concurrency: 0 });
  expect(make).toThrow(PosthasteError);
  expect(make).toThrow(
    /concurrency: .*\n.*file: task "send-note" is blocking: .* import\.meta\.url/,
  );
});
