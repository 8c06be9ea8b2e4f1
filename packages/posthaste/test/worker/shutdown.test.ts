import { expect, test } from "vitest";
import { defineTask, fail, fixed, TaskAborted } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";
import { recordingLogger } from "../support/loggers.ts";
import { SOON_MS } from "../support/soon.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

test("stop() waits for running tasks to end and writes their results", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  const worker = await app.worker({ concurrency: 2 }).start();
  const handles = await app.sendMany(held.task, ["a", "b"]);
  await held.begun(2);
  let hasStopped = false;
  const stopping = worker.stop().then(() => (hasStopped = true));
  held.bodies[0]?.finish.open();
  await expect.poll(async () => (await handles[0]?.info())?.status).toBe("COMPLETED");
  expect(hasStopped).toBe(false);
  expect(held.bodies[1]?.ctx.signal.aborted).toBe(false);
  held.finishAll();
  await stopping;
  expect((await handles[1]?.info())?.status).toBe("COMPLETED");
});

test("a stopping worker claims no more tasks", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  const worker = await app.worker({ concurrency: 1 }).start();
  const handles = await app.sendMany(held.task, ["a", "b"]);
  await held.begun(1);
  const stopping = worker.stop();
  held.finishAll();
  await stopping;
  expect(held.inputs()).toEqual(["a"]);
  expect((await handles[1]?.info())?.status).toBe("PENDING");
});

test("a stopping worker releases prefetched tasks to their old places, without an attempt", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], prefetchBuffer: 5 });
  const worker = await app.worker({ concurrency: 1 }).start();
  const handles = await app.sendMany(held.task, ["a", "b", "c"]);
  const before = await Promise.all(handles.map((handle) => handle.info()));
  await held.begun(1);
  await expect
    .poll(
      async () =>
        (await db.sql("select from posthaste.active_tasks where started_at is null")).length,
    )
    .toBe(2);
  const stopping = worker.stop();
  await expect.poll(async () => (await handles[2]?.info())?.status).toBe("PENDING");
  held.finishAll();
  await stopping;
  const after = await Promise.all(handles.map((handle) => handle.info()));
  expect(after.slice(1)).toMatchObject(
    before.slice(1).map(({ enqueuedAt }) => ({
      status: "PENDING",
      enqueuedAt,
      claimedAt: null,
      worker: null,
      attempts: [],
    })),
  );

  // Another worker claims the tasks in their old order.
  await app.worker({ concurrency: 1 }).start();
  await held.begun(2);
  held.finishAll();
  await held.begun(3);
  held.finishAll();
  expect(held.inputs()).toEqual(["a", "b", "c"]);
  expect((await handles[2]?.info())?.attempts).toMatchObject([{ attempt: 1 }]);
});

test("after shutdownGraceMs the signal aborts with SHUTDOWN, and a handler that then returns completes its task", async () => {
  const begun = gate();
  const reasons: unknown[] = [];
  const heedful = defineTask({
    name: "heedful",
    run: async (_: null, { signal }) => {
      begun.open();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      reasons.push(signal.reason);
      return "saved my work";
    },
  });
  const app = db.app({ tasks: [heedful] });
  const worker = await app.worker({ shutdownGraceMs: 50 }).start();
  const handle = await app.send(heedful);
  await begun.opened;
  await worker.stop();
  expect(reasons).toEqual([expect.any(TaskAborted)]);
  expect(reasons[0]).toMatchObject({ reason: "SHUTDOWN" });
  expect(await handle.value({ timeoutMs: 30_000 })).toBe("saved my work");
});

test.each([
  ["the signal's reason", (signal: AbortSignal) => signal.throwIfAborted()],
  [
    "the AbortError of an aborted call",
    () => {
      throw new DOMException("This operation was aborted", "AbortError");
    },
  ],
])(
  "a task whose handler stops by throwing %s is released, and no retry is spent",
  async (_, leave: (signal: AbortSignal) => void) => {
    const begun = gate();
    const heedful = defineTask({
      name: "heedful",
      retry: fixed({ intervalsMs: [60_000], retryFor: "any" }),
      run: async (_input: null, { signal, attempt }) => {
        if (attempt > 1) return attempt;
        begun.open();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        leave(signal);
        return attempt;
      },
    });
    const app = db.app({ tasks: [heedful] });
    const worker = await app.worker({ shutdownGraceMs: 0 }).start();
    const handle = await app.send(heedful);
    await begun.opened;
    await worker.stop();
    expect(await handle.info()).toMatchObject({
      status: "PENDING",
      retryCount: 0,
      attempts: [{ attempt: 1, outcome: "INTERRUPTED" }],
    });
    await app.worker().start();
    expect(await handle.value({ timeoutMs: 30_000 })).toBe(2);
  },
);

test("a handler that returns fail() while the worker stops fails its task", async () => {
  const begun = gate();
  const task = defineTask({
    name: "undecided",
    errors: ["HALF_DONE"],
    run: async (_: null, { signal }) => {
      begun.open();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return fail("HALF_DONE");
    },
  });
  const app = db.app({ tasks: [task] });
  const worker = await app.worker({ shutdownGraceMs: 0 }).start();
  const handle = await app.send(task);
  await begun.opened;
  await worker.stop();
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "HALF_DONE" },
  });
});

test("a task whose handler does not stop is released: its attempt is INTERRUPTED, no retry is spent, and another worker runs it", async () => {
  const held = heldTask();
  const logger = recordingLogger();
  const app = db.app({ tasks: [held.task], logger });
  const worker = await app.worker({ shutdownGraceMs: 0 }).start();
  const handle = await app.send(held.task, "stubborn");
  await held.begun(1);
  const sent = await handle.info();
  await worker.stop();
  const back = await handle.info();
  expect(back).toMatchObject({
    status: "PENDING",
    retryCount: 0,
    enqueuedAt: sent.enqueuedAt,
    attempts: [{ attempt: 1, outcome: "INTERRUPTED", workerId: worker.id }],
  });
  expect(logger.lines.map(({ message }) => message)).toContainEqual(
    expect.stringContaining("did not stop when aborted"),
  );

  const second = await app.worker().start();
  await held.begun(2);
  expect(held.bodies[1]?.ctx.attempt).toBe(2);
  // The first handler ends late, and its result is dropped.
  held.bodies[0]?.finish.open();
  await expect.poll(async () => (await handle.info()).status).toBe("RUNNING");
  held.finishAll();
  await handle.value({ timeoutMs: 30_000 });
  expect(await handle.info()).toMatchObject({
    status: "COMPLETED",
    retryCount: 0,
    attempts: [
      { attempt: 1, outcome: "INTERRUPTED" },
      { attempt: 2, outcome: "COMPLETED", workerId: second.id },
    ],
  });
});

test("an idle worker claims at once a task that a stopping worker releases", async () => {
  const held = heldTask();
  const resilience = { notifyPollIntervalMs: 60_000 };
  const first = db.app({ tasks: [held.task], resilience });
  const stubborn = await first.worker({ shutdownGraceMs: 0 }).start();
  const handle = await first.send(held.task, "x");
  await held.begun(1);
  const second = db.app({ tasks: [held.task], resilience });
  await second.worker().start();
  await stubborn.stop();
  const stoppedAt = performance.now();
  await held.begun(2);
  expect(performance.now() - stoppedAt).toBeLessThan(SOON_MS);
  held.finishAll();
  await handle.value({ timeoutMs: 30_000 });
});

test("hurry() ends the grace period early", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  const worker = await app.worker({ shutdownGraceMs: 60_000 }).start();
  const handle = await app.send(held.task, "x");
  await held.begun(1);
  const begun = performance.now();
  const stopping = worker.stop();
  worker.hurry();
  await stopping;
  expect(performance.now() - begun).toBeLessThan(SOON_MS);
  expect((await handle.info()).status).toBe("PENDING");
  held.finishAll();
});

test("a stopping worker renews its claims while it waits for its tasks", async () => {
  const held = heldTask();
  const app = db.app({
    tasks: [held.task],
    recovery: { runnerHeartbeatIntervalMs: 1_000, claimerHeartbeatIntervalMs: 1_000 },
  });
  const worker = await app.worker().start();
  const handle = await app.send(held.task, "x");
  await held.begun(1);
  const stopping = worker.stop();
  const [claimed] = await db.sql<{ at: Date | null }>(
    "select heartbeat_at as at from posthaste.active_tasks where task_id = $1",
    [handle.id],
  );
  await expect
    .poll(async () => {
      const [row] = await db.sql<{ at: Date }>(
        "select heartbeat_at as at from posthaste.active_tasks where task_id = $1",
        [handle.id],
      );
      return Number(row?.at) > Number(claimed?.at);
    })
    .toBe(true);
  held.finishAll();
  await stopping;
});

test("a task with a requested cancellation whose handler does not stop ends CANCELLED and is not released", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  const worker = await app.worker({ shutdownGraceMs: 0 }).start();
  const handle = await app.send(held.task, "x");
  await held.begun(1);
  expect(await handle.cancel()).toBe("requested");
  await worker.stop();
  expect((await handle.info()).status).toBe("CANCELLED");
  held.finishAll();
});
