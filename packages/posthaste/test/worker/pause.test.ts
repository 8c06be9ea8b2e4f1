import { describe, expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { addWorker } from "../recovery/recovery-kit.ts";
import { addOneActive } from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

async function pending(): Promise<number> {
  return (await db.sql("select from posthaste.ready_tasks")).length;
}

test("no task of a paused queue starts, running tasks continue, and waiting tasks run after resume", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  await app.worker({ concurrency: 1 }).start();
  const [first, second] = await app.sendMany(held.task, ["a", "b"]);
  await held.begun(1);
  expect(await app.admin.queues.pause("default")).toBe(true);
  expect(await app.admin.queues.pause("default")).toBe(false);
  held.finishAll();
  await first?.value({ timeoutMs: 30_000 });
  expect((await second?.info())?.status).toBe("PENDING");
  expect(await app.admin.queues.list()).toMatchObject([
    { name: "default", pausedAt: expect.any(Date), pending: 1, claimed: 0, running: 0 },
  ]);
  expect(await app.admin.queues.resume("default")).toBe(true);
  await held.begun(2);
  expect(await app.admin.queues.resume("default")).toBe(false);
});

test("the worker releases prefetched tasks of a paused queue at once, not with the next poll", async () => {
  const held = heldTask();
  const resilience = { notifyPollIntervalMs: 60_000 };
  const app = db.app({ tasks: [held.task], prefetchBuffer: 3, resilience });
  await app.worker({ concurrency: 1 }).start();
  await app.sendMany(held.task, ["a", "b", "c", "d"]);
  await held.begun(1);
  await expect.poll(pending).toBe(0);
  await app.admin.queues.pause("default");
  await expect.poll(pending).toBe(3);
});

test("the worker finds a pause without a notification when it starts a prefetched task", async () => {
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

test("a worker respects a pause from before its start, and runs the tasks of other queues", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  await app.admin.queues.pause("a", { force: true });
  await app.send(held.task, "of a", { queue: "a" });
  await app.send(held.task, "of b", { queue: "b" });
  await app.worker({ queues: ["a", "b"], concurrency: 2 }).start();
  await held.begun(1);
  expect(held.inputs()).toEqual(["of b"]);
  await app.admin.queues.resume("a");
  await held.begun(2);
});

describe("names of queues to pause", () => {
  const mail = defineTask({ name: "mail", queue: "mail", run: () => null });
  const refusal = async (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => undefined,
      (error: unknown) => error,
    );

  test("pause() refuses an unknown queue, suggests the nearest name, and accepts any name with force", async () => {
    const app = db.app({ tasks: [mail] });
    expect(await refusal(app.admin.queues.pause("maill"))).toMatchObject({
      code: "QUEUE_NOT_FOUND",
      message:
        'nothing was paused: name: there is no queue "maill"; did you mean "mail"? Known: default, mail. ' +
        "{ force: true } takes any name",
    });
    expect(await refusal(app.admin.queues.resume("maill"))).toMatchObject({
      message: expect.stringContaining("nothing was resumed"),
    });
    expect(await db.sql("select from posthaste.queues")).toEqual([]);
    expect(await app.admin.queues.pause("maill", { force: true })).toBe(true);
    expect(await app.admin.queues.resume("maill")).toBe(true); // a paused queue is known
    const wrong = { froce: true } as object;
    expect(await refusal(app.admin.queues.pause("mail", wrong))).toMatchObject({
      message: expect.stringContaining('unknown option "froce"; did you mean "force"?'),
    });
  });

  test("pause() knows a queue by a waiting or running task and by a worker that serves it", async () => {
    const app = db.app({ tasks: [mail] });
    await app.send(mail, undefined, { queue: "waiting" });
    await addOneActive(db, { queue: "running" });
    await addWorker(db, { queues: ["served"], state: "stopped" });
    for (const queue of ["waiting", "running", "served", "mail", "default"])
      expect([queue, await app.admin.queues.pause(queue)]).toEqual([queue, true]);
  });

  test("pause() refuses a queue that is not configured, whatever waits in it", async () => {
    const app = db.app({ tasks: [mail], queues: { mail: {}, bulk: {} } });
    await db.sql("select posthaste.send('mail', queue => 'elsewhere')");
    expect(await refusal(app.admin.queues.pause("elsewhere"))).toMatchObject({
      message: expect.stringContaining("Known: mail, bulk."),
    });
    expect(await app.admin.queues.pause("bulk")).toBe(true);
    expect(await app.admin.queues.pause("elsewhere", { force: true })).toBe(true);
  });
});

test.each(["", "no spaces", "q".repeat(101), 5])(
  "pause() refuses %j as the name of a queue",
  async (name) => {
    const app = db.app();
    await expect(app.admin.queues.pause(name as string)).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
  },
);
