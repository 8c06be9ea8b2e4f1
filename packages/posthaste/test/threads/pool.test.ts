import { expect, test } from "vitest";
import { waitUntil } from "../support/wait-until.ts";
import { openPool, watchFor } from "./pool.ts";

const cancelled = { code: "TASK_CANCELLED", message: "never mind" };

test("the pool answers 50 calls on 2 threads, and each thread takes its calls in order", async () => {
  const { pool, call } = openPool();
  const taken = new Map<number, number[]>();
  const answers = Array.from({ length: 50 }, async (_, n) => {
    const ended = await call("echo", n).ended;
    const { input, threadId } = JSON.parse(ended.ok ? ended.value : "{}") as Echo;
    taken.set(threadId, [...(taken.get(threadId) ?? []), n]);
    return input;
  });
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 50 }, (_, n) => n));
  expect(pool.size).toBe(2);
  expect(taken.size).toBe(2);
  for (const inOrder of taken.values()) expect(inOrder).toEqual([...inOrder].sort((a, b) => a - b));
});

interface Echo {
  readonly input: number;
  readonly threadId: number;
}

test("the pool opens a thread only when a call needs it", async () => {
  const { pool, call } = openPool("tasks.ts", { threads: 4 });
  expect(pool.size).toBe(0);
  await call("where").ended;
  await call("where").ended;
  expect(pool.size).toBe(1);
});

test("terminate() ends a waiting call, and the next call takes its place", async () => {
  const { call } = openPool("tasks.ts", { threads: 1 });
  const line = watchFor(/listening/);
  const busy = call("listen", null, line.log);
  const waiting = call("spin");
  const last = call("add", { a: 1, b: "1" });
  await line.said;
  waiting.terminate(cancelled);
  expect(await waiting.ended).toEqual({ ran: false, ok: false, error: cancelled });
  busy.abort("SHUTDOWN");
  expect(await last.ended).toMatchObject({ value: "2" });
});

test("a call that was aborted while it waited starts with an aborted signal", async () => {
  const { call } = openPool("tasks.ts", { threads: 1 });
  const busy = call("listen");
  const waiting = call("compute");
  waiting.abort("CLAIM_LOST");
  busy.abort("SHUTDOWN");
  expect(await waiting.ended).toMatchObject({
    value: JSON.stringify({ isTaskAborted: true, reason: "CLAIM_LOST" }),
  });
});

test("abort() and terminate() of an ended call change nothing", async () => {
  const { call } = openPool("tasks.ts", { threads: 1 });
  const over = call("where");
  const ended = await over.ended;
  const next = call("listen");
  over.abort("SHUTDOWN");
  over.terminate(cancelled);
  next.abort("CLAIM_LOST");
  expect(await over.ended).toBe(ended);
  expect(await next.ended).toMatchObject({ value: expect.stringContaining("CLAIM_LOST") });
});

test("the pool closes idle threads, down to none, and opens them again", async () => {
  const { pool, call } = openPool("tasks.ts", { idleMs: 50 });
  const busy = [call("listen"), call("listen")];
  expect(pool.size).toBe(2);
  for (const run of busy) run.abort("SHUTDOWN");
  await Promise.all(busy.map(({ ended }) => ended));
  await waitUntil("no thread", () => pool.size === 0);
  expect(await call("add", { a: 1, b: "1" }).ended).toMatchObject({ value: "2" });
});

test("close() ends running and waiting calls, and leaves no thread", async () => {
  const { pool, call } = openPool("tasks.ts", { threads: 1 });
  const before = threadCount();
  const line = watchFor(/spinning/);
  const running = call("spin", null, line.log);
  const waiting = call("where");
  await line.said;
  expect(threadCount()).toBe(before + 1);
  await pool.close();
  expect(pool.size).toBe(0);
  expect(threadCount()).toBe(before);
  const error = { code: "UNHANDLED_ERROR", message: expect.stringContaining("were closed") };
  expect(await running.ended).toEqual({ ran: true, ok: false, error });
  expect(await waiting.ended).toEqual({ ran: false, ok: false, error });
  expect(await call("where").ended).toEqual({ ran: false, ok: false, error });
});

/** Counts the threads in Node's own report. */
function threadCount(): number {
  const { workers } = process.report.getReport() as unknown as { workers: readonly object[] };
  return workers.length;
}
