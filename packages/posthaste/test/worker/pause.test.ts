import { expect, test } from "vitest";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

async function pending(): Promise<number> {
  return (await db.sql("select from posthaste.ready_tasks")).length;
}

test("nothing of a paused queue starts, what runs goes on, and after resume the rest runs", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  await app.worker({ concurrency: 1 }).start();
  const [first, second] = await app.sendMany(held.task, ["a", "b"]);
  await held.begun(1);
  expect(await app.admin.queues.pause("default")).toBe(true);
  expect(await app.admin.queues.pause("default")).toBe(false);
  held.finishAll();
  await first?.value({ timeoutMs: 5_000 });
  expect((await second?.info())?.status).toBe("PENDING");
  expect(await app.admin.queues.list()).toMatchObject([
    { name: "default", pausedAt: expect.any(Date), pending: 1, claimed: 0, running: 0 },
  ]);
  expect(await app.admin.queues.resume("default")).toBe(true);
  await held.begun(2);
  expect(await app.admin.queues.resume("default")).toBe(false);
});

test("tasks fetched ahead are given back within a second", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], prefetchBuffer: 3 });
  await app.worker({ concurrency: 1 }).start();
  await app.sendMany(held.task, ["a", "b", "c", "d"]);
  await held.begun(1);
  await expect.poll(pending).toBe(0);
  await app.admin.queues.pause("default");
  await expect.poll(pending, { timeout: 1_000 }).toBe(3);
});

test("a pause that no notification told of is found when a buffered task is to start", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], prefetchBuffer: 3 });
  await app.worker({ concurrency: 1 }).start();
  await app.sendMany(held.task, ["a", "b"]);
  await held.begun(1);
  await expect.poll(pending).toBe(0);
  await db.sql("insert into posthaste.queues values ('default', now())");
  held.finishAll();
  await expect.poll(pending).toBe(1);
  expect(held.inputs()).toEqual(["a"]);
});

test("a pause outlives the worker, and other queues are not touched", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  await app.admin.queues.pause("a");
  await app.send(held.task, "of a", { queue: "a" });
  await app.send(held.task, "of b", { queue: "b" });
  await app.worker({ queues: ["a", "b"], concurrency: 2 }).start();
  await held.begun(1);
  expect(held.inputs()).toEqual(["of b"]);
  await app.admin.queues.resume("a");
  await held.begun(2);
});

test.each(["", "no spaces", "q".repeat(101), 5])("%j is no queue to pause", async (name) => {
  const app = db.app();
  await expect(app.admin.queues.pause(name as string)).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
  });
});
