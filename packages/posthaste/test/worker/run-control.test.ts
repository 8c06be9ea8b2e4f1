import { expect, test } from "vitest";
import { defineTask, fixed, TaskAborted } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";
import { recordingLogger } from "../support/loggers.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

function abortable(name: string, options: { readonly timeoutMs?: number } = {}) {
  const began = gate();
  const reasons: unknown[] = [];
  const task = defineTask({
    name,
    ...options,
    run: async (_: null, { signal }) => {
      began.open();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      reasons.push(signal.reason);
      return "noticed";
    },
  });
  return { task, began, reasons };
}

test("cancelling a running task aborts its signal with a typed reason, and the task ends CANCELLED", async () => {
  const { task, began, reasons } = abortable("abortable");
  const app = db.app({ tasks: [task] });
  await app.worker().start();
  const handle = await app.send(task);
  await began.opened;
  expect(await handle.cancel()).toBe("requested");
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    ok: false,
    error: { code: "TASK_CANCELLED" },
  });
  expect(reasons).toEqual([expect.any(TaskAborted)]);
  expect(reasons).toMatchObject([{ reason: "CANCEL_REQUESTED" }]);
  expect(await handle.info()).toMatchObject({
    status: "CANCELLED",
    cancelledAt: expect.any(Date),
    attempts: [{ attempt: 1, outcome: "CANCELLED" }],
  });
});

test("the poll finds a cancellation without a notification", async () => {
  const { task, began } = abortable("abortable");
  const app = db.app({ tasks: [task], resilience: { notifyPollIntervalMs: 1_000 } });
  await app.worker().start();
  const handle = await app.send(task);
  await began.opened;
  // The update sends no notification, as if it were lost.
  await db.sql("update posthaste.active_tasks set cancel_requested_at = clock_timestamp()");
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "TASK_CANCELLED" },
  });
});

test("a cancelled task whose handler fails is not retried", async () => {
  const began = gate();
  const task = defineTask({
    name: "retries",
    retry: fixed({ intervalsMs: [1, 1], retryFor: "any" }),
    run: async (_: null, { signal }) => {
      began.open();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      signal.throwIfAborted();
      return null;
    },
  });
  const app = db.app({ tasks: [task] });
  await app.worker().start();
  const handle = await app.send(task);
  await began.opened;
  await handle.cancel();
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "TASK_CANCELLED" },
  });
  expect((await handle.info()).attempts).toHaveLength(1);
});

test("a cancelled handler that ignores its signal is logged, loses its slot after shutdownGraceMs, and its claim is fenced", async () => {
  const held = heldTask();
  const logger = recordingLogger();
  const app = db.app({ tasks: [held.task], logger });
  await app.worker({ concurrency: 1, shutdownGraceMs: 200 }).start();
  const deaf = await app.send(held.task, "deaf");
  const next = await app.send(held.task, "next");
  await held.begun(1);
  await deaf.cancel();
  expect(await deaf.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "TASK_CANCELLED" },
  });
  await held.begun(2); // the slot is free although the first handler still runs
  held.finishAll();
  await next.value({ timeoutMs: 30_000 });
  expect((await deaf.info()).status).toBe("CANCELLED");
  const warning = logger.lines.find(({ message }) => message.includes("did not stop"));
  expect(warning).toMatchObject({
    level: "warn",
    fields: { task: deaf.id, reason: "CANCEL_REQUESTED" },
  });
});

test("an attempt that takes longer than timeoutMs ends FAILED with TASK_TIMEOUT, and its signal aborts", async () => {
  const { task, reasons } = abortable("slow", { timeoutMs: 100 });
  const app = db.app({ tasks: [task] });
  await app.worker().start();
  const handle = await app.send(task);
  expect(await handle.result({ timeoutMs: 30_000 })).toEqual({
    ok: false,
    error: { code: "TASK_TIMEOUT", message: "the attempt took longer than 100 ms" },
  });
  expect(reasons).toMatchObject([{ reason: "TIMEOUT" }]);
  expect((await handle.info()).status).toBe("FAILED");
});

test("a timeout is retried if retryFor lists TASK_TIMEOUT, and each attempt has the whole time", async () => {
  let runs = 0;
  const task = defineTask({
    name: "slow-then-quick",
    timeoutMs: 150,
    retry: fixed({ intervalsMs: [1], retryFor: ["TASK_TIMEOUT"] }),
    run: async (_: null, { signal }) => {
      if (++runs > 1) return "quick";
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return "slow";
    },
  });
  const app = db.app({ tasks: [task] });
  await app.worker().start();
  const handle = await app.send(task);
  expect(await handle.value({ timeoutMs: 30_000 })).toBe("quick");
  expect((await handle.info()).attempts).toMatchObject([
    { outcome: "FAILED", errorCode: "TASK_TIMEOUT" },
    { outcome: "COMPLETED" },
  ]);
});

test("a handler that ignores its timeout loses its slot", async () => {
  const deaf = gate();
  const task = defineTask({
    name: "deaf",
    timeoutMs: 50,
    run: async () => {
      await deaf.opened;
      return "late";
    },
  });
  const app = db.app({ tasks: [task] });
  await app.worker({ concurrency: 1 }).start();
  const handle = await app.send(task);
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "TASK_TIMEOUT" },
  });
  deaf.open();
  expect((await handle.info()).attempts).toMatchObject([{ outcome: "FAILED" }]);
});

test("the timeout of the sent task applies, not the timeout of the worker's definition", async () => {
  const held = heldTask("sent");
  const sender = db.app({ tasks: [] });
  const contract = defineTask({ name: "sent", timeoutMs: 100, run: (input: string) => input });
  const handle = await sender.send(contract, "x");
  await db
    .app({ tasks: [held.task] })
    .worker()
    .start();
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "TASK_TIMEOUT" },
  });
});
