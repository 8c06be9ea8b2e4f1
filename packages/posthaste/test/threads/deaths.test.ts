import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect, onTestFinished, test } from "vitest";
import { recordingLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { openPool, watchFor, type TestPool } from "./pool.ts";

const timeout = { code: "TASK_TIMEOUT", message: "too long" };

async function expectHealed({ call }: TestPool): Promise<void> {
  expect(await call("add", { a: 1, b: "1" }).ended).toMatchObject({ ok: true, value: "2" });
}

test("terminate() ends a spinning handler, and the pool serves the next call", async () => {
  const threads = openPool("tasks.ts", { threads: 1 });
  const line = watchFor(/spinning/);
  const run = threads.call("spin", null, line.log);
  const next = threads.call("add", { a: 1, b: "1" });
  await line.said;
  run.terminate(timeout);
  expect(await run.ended).toEqual({ ran: true, ok: false, error: timeout });
  expect(await next.ended).toMatchObject({ ok: true, value: "2" });
  expect(threads.pool.size).toBe(1);
});

test("the event loop of the worker keeps turning while threads spin", async () => {
  const threads = openPool();
  const lines = [watchFor(/spinning/), watchFor(/spinning/)];
  const runs = lines.map(({ log }) => threads.call("spin", null, log));
  await Promise.all(lines.map(({ said }) => said));
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  // A loop that waits for its threads turns no more than once. How often it must turn depends on the machine's other load.
  await waitUntil("enough samples", () => delay.count >= 100);
  delay.disable();
  for (const run of runs) run.terminate(timeout);
  await Promise.all(runs.map(({ ended }) => ended));
});

test("a handler that runs out of memory fails only its own call", async () => {
  const threads = openPool("tasks.ts", { heapLimitMb: 64 });
  const other = threads.call("listen");
  expect(await threads.call("hoard").ended).toEqual({
    ran: true,
    ok: false,
    error: {
      code: "UNHANDLED_ERROR",
      message: "the task ran out of memory (thread heap limit 64 MB)",
    },
  });
  other.abort("SHUTDOWN");
  expect(await other.ended).toMatchObject({ ok: true });
  await expectHealed(threads);
});

test.each([0, 3])("a handler that calls process.exit(%i) fails only its own call", async (code) => {
  const threads = openPool();
  expect(await threads.call("exit", code).ended).toEqual({
    ran: true,
    ok: false,
    error: { code: "UNHANDLED_ERROR", message: `the task called process.exit(${code})` },
  });
  await expectHealed(threads);
});

test.each([
  ["timer", "nobody waits for me"],
  ["rejection", "let go of"],
])(
  "an uncaught error of a handler (%s) fails its call, and the pool replaces its thread",
  async (task, says) => {
    const threads = openPool("tasks.ts", { threads: 1 });
    const before = await threads.call("where").ended;
    expect(await threads.call(task).ended).toMatchObject({
      ran: true,
      error: {
        code: "UNHANDLED_ERROR",
        message: says,
        cause: { name: "Error", stack: expect.stringContaining("apps/tasks.ts") },
      },
    });
    const after = await threads.call("where").ended;
    expect(threadOf(after)).not.toBe(threadOf(before));
  },
);

function threadOf(ended: { ok: boolean; value?: string }): number {
  return (JSON.parse(ended.value ?? "{}") as { threadId: number }).threadId;
}

test("an error thrown after the end of a task fails neither its result nor the next task", async () => {
  const log = recordingLogger();
  const { call } = openPool("tasks.ts", { threads: 1, log });
  const first = await call("leave").ended;
  const second = await call("light").ended;
  expect(first).toMatchObject({ ok: true });
  expect(second).toEqual(first); // the same thread
  const third = await call("where").ended;
  expect(third).toMatchObject({ ok: true });
  expect(threadOf(third)).not.toBe(Number(first.ok && first.value));
  expect(log.lines).toMatchObject([
    {
      level: "error",
      fields: { error: "left behind", name: "leave", worker: "w" },
      message: expect.stringContaining("the result of the task stays"),
    },
  ]);
});

test("terminate() ends a call whose thread is inside a native call, and another thread takes over", async () => {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-native-"));
  onTestFinished(() => rmSync(folder, { recursive: true })); // ends the native call
  const log = recordingLogger();
  const threads = openPool("tasks.ts", { threads: 1 });
  const run = threads.call("native", folder, log);
  await waitUntil("the native call", () => existsSync(join(folder, "begun")));
  run.terminate(timeout);
  expect(await run.ended).toEqual({ ran: true, ok: false, error: timeout });
  expect(log.lines).toMatchObject([
    { level: "warn", message: expect.stringContaining("native call") },
  ]);
  await expectHealed(threads);
});
