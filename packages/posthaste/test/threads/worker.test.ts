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

test("a worker executes blocking tasks on threads, and their results keep their types", async () => {
  const app = db.app({ tasks, file });
  await app.worker().start();
  const handle = await app.send(collatz, { from: 27 });
  const steps: number = await handle.value({ timeoutMs });
  expect(steps).toBe(111);
});

test("a task on a thread can send tasks", async () => {
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

test("a stopping worker requeues a spinning task and ends its thread", async () => {
  const line = watchFor(/spinning/);
  const app = db.app({ tasks, file, logger: line.log });
  const worker = await app.worker({ shutdownGraceMs: 0 }).start();
  const handle = await app.send(spin);
  await line.said;
  await worker.stop();
  expect(await handle.info()).toMatchObject({ status: "PENDING" });
  const { workers } = process.report.getReport() as unknown as { workers: readonly object[] };
  expect(workers.length).toBeLessThanOrEqual(1); // the thread that writes heartbeats is kept for a moment
  await handle.cancel();
});

test("a handler on a thread has the whole ctx: context, progress, send, transaction", async () => {
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

test("a worker terminates a spinning task at its timeout and frees its slot", async () => {
  const app = db.app({ tasks, file });
  await app.worker({ concurrency: 1 }).start();
  await (await app.send(collatz, { from: 1 })).value({ timeoutMs }); // the thread is warm
  const handle = await app.send(spinForAWhile);
  expect(await handle.result({ timeoutMs })).toMatchObject({ error: { code: "TASK_TIMEOUT" } });
  const next = await app.send(collatz, { from: 27 });
  expect(await next.value({ timeoutMs })).toBe(111);
});

test.each([
  ["checks", heeding, /looking/],
  ["ignores", spin, /spinning/],
])(
  "a running blocking task that is cancelled and %s its signal ends CANCELLED",
  async (_, task, says) => {
    const line = watchFor(says);
    const app = db.app({ tasks, file, logger: line.log });
    await app.worker({ concurrency: 1 }).start();
    const handle = await app.send(task);
    await line.said;
    expect(await handle.cancel()).toBe("requested");
    expect(await handle.result({ timeoutMs })).toMatchObject({ error: { code: "TASK_CANCELLED" } });
    expect((await handle.info()).status).toBe("CANCELLED");
  },
);

test("app.worker() refuses blocking tasks without an app file, and reports every other problem with it", () => {
  // Array.map calls posthaste(), so no file is found as the caller.
  const [app] = [{ tasks, database: db.url, logger: silentLogger }].map(posthaste);
  const make = (): unknown => app?.worker({ concurrency: 0 });
  expect(make).toThrow(PosthasteError);
  expect(make).toThrow(
    /concurrency: .*\n.*file: task "send-note" is blocking: .* import\.meta\.url/,
  );
});
