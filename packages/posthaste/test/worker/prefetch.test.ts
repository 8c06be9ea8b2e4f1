import { expect, test } from "vitest";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

async function claimed(): Promise<number> {
  const rows = await db.sql("select from posthaste.active_tasks where started_at is null");
  return rows.length;
}

test("a worker prefetches as many tasks as its buffer holds, stores them as CLAIMED, and does not run their handlers", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], prefetchBuffer: 3 });
  const worker = await app.worker({ concurrency: 2 }).start();
  const handles = await app.sendMany(held.task, ["a", "b", "c", "d", "e", "f", "g"]);
  await held.begun(2);
  await expect.poll(claimed).toBe(3);
  const infos = await Promise.all(handles.map((handle) => handle.info()));
  expect(infos.map(({ status }) => status)).toEqual([
    "RUNNING",
    "RUNNING",
    "CLAIMED",
    "CLAIMED",
    "CLAIMED",
    "PENDING",
    "PENDING",
  ]);
  expect(infos[2]).toMatchObject({
    claimedAt: expect.any(Date),
    startedAt: null,
    attempts: [],
    worker: { id: worker.id },
  });
  expect(held.inputs()).toEqual(["a", "b"]);
});

test("prefetched tasks start in order when a slot is free, as their first attempt", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], prefetchBuffer: 3 });
  await app.worker({ concurrency: 1 }).start();
  const handles = await app.sendMany(held.task, ["a", "b", "c"]);
  await held.begun(1);
  await expect.poll(claimed).toBe(2);
  held.bodies[0]?.finish.open();
  await held.begun(2);
  held.bodies[1]?.finish.open();
  await held.begun(3);
  held.finishAll();
  await handles[2]?.value({ timeoutMs: 30_000 });
  expect(held.inputs()).toEqual(["a", "b", "c"]);
  const { claimedAt, startedAt, attempts } = (await handles[2]?.info()) ?? {};
  expect(Number(startedAt)).toBeGreaterThan(Number(claimedAt));
  expect(attempts).toMatchObject([{ attempt: 1, outcome: "COMPLETED" }]);
});

test("a task whose goodUntil passes in the buffer ends EXPIRED, with no attempt", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], prefetchBuffer: 3 });
  await app.worker({ concurrency: 1 }).start();
  await app.send(held.task, "a");
  await held.begun(1);
  const goodUntil = new Date(Date.now() + 300);
  const expiring = await app.send(held.task, "too late", { goodUntil });
  await expect.poll(claimed).toBe(1);
  const result = expiring.result({ timeoutMs: 30_000 });
  await expect
    .poll(
      async () =>
        (await db.sql("select from posthaste.active_tasks where good_until < now()")).length,
    )
    .toBe(1);
  held.finishAll();
  expect(await result).toMatchObject({ ok: false, error: { code: "TASK_EXPIRED" } });
  expect(await expiring.info()).toMatchObject({
    status: "EXPIRED",
    claimedAt: expect.any(Date),
    startedAt: null,
    failedAt: expect.any(Date),
    attempts: [],
  });
  expect(held.inputs()).toEqual(["a"]);
});

test("a task that is cancelled in the buffer never runs, and the worker continues with the next task", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], prefetchBuffer: 3 });
  await app.worker({ concurrency: 1 }).start();
  const handles = await app.sendMany(held.task, ["a", "cancelled", "c"]);
  await held.begun(1);
  await expect.poll(claimed).toBe(2);
  expect(await handles[1]?.cancel()).toBe("cancelled");
  held.finishAll();
  await held.begun(2);
  held.finishAll();
  await handles[2]?.value({ timeoutMs: 30_000 });
  expect(held.inputs()).toEqual(["a", "c"]);
  expect(await handles[1]?.info()).toMatchObject({ status: "CANCELLED", attempts: [] });
});

test("a task that is requeued from the buffer by an operator runs once", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], prefetchBuffer: 3 });
  await app.worker({ concurrency: 1 }).start();
  const handles = await app.sendMany(held.task, ["a", "b"]);
  await held.begun(1);
  await expect.poll(claimed).toBe(1);
  const [row] = await db.sql("select posthaste.requeue($1) as answer", [handles[1]?.id]);
  expect(row).toEqual({ answer: "requeued" });
  held.finishAll();
  await held.begun(2);
  held.finishAll();
  await handles[1]?.value({ timeoutMs: 30_000 });
  expect(held.inputs()).toEqual(["a", "b"]);
  expect((await handles[1]?.info())?.attempts).toMatchObject([{ attempt: 1 }]);
});

test("an idle worker with a buffer runs new tasks at once", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], prefetchBuffer: 3 });
  await app.worker({ concurrency: 2 }).start();
  await app.sendMany(held.task, ["a", "b"]);
  await held.begun(2);
  expect(await claimed()).toBe(0);
});
