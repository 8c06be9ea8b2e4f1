import { expect, test } from "vitest";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { defineTask } from "../../src/index.ts";

const db = useDatabase();
useCleanTables(db);

/** A task that records the order in which its handlers began. */
function recorder() {
  const order: string[] = [];
  const task = defineTask({
    name: "record",
    run: (input: string) => {
      order.push(input);
      return null;
    },
  });
  return { order, task };
}

test.each([1, 4])(
  "with %i slots tasks run by priority, then by time, then by id",
  async (concurrency) => {
    const { order, task } = recorder();
    const app = db.app({ tasks: [task] });
    const ids = [
      "00000000-0000-7000-8000-000000000001",
      "00000000-0000-7000-8000-000000000002",
    ] as const;
    // One statement stores both tasks with one enqueued_at, so they differ only in their ids.
    await app.sendMany(task, [
      { input: "default, same time, id 2", id: ids[1] },
      { input: "default, same time, id 1", id: ids[0] },
    ]);
    await app.send(task, "default, later");
    await app.send(task, "urgent", { priority: 1 });
    await app.send(task, "middling", { priority: 50 });
    await app.send(task, "urgent, later", { priority: 1 });
    await app.worker({ concurrency }).start();
    await expect.poll(() => order.length).toBe(6);
    expect(order).toEqual([
      "urgent",
      "urgent, later",
      "middling",
      "default, same time, id 1",
      "default, same time, id 2",
      "default, later",
    ]);
  },
);

test("a task that was due earlier runs earlier, whenever it was sent", async () => {
  const { order, task } = recorder();
  const app = db.app({ tasks: [task] });
  const handle = await app.send(task, "sent first, due second", { delayMs: 200 });
  await app.send(task, "sent second, due first");
  await expect.poll(async () => (await handle.info()).enqueuedAt < new Date()).toBe(true);
  await app.worker({ concurrency: 1 }).start();
  await expect.poll(() => order.length).toBe(2);
  expect(order).toEqual(["sent second, due first", "sent first, due second"]);
});

test("a worker claims from its queues in the order of queuePriorities", async () => {
  const { order, task } = recorder();
  const app = db.app({ tasks: [task] });
  for (const queue of ["bulk", "mail", "alerts", "mail", "bulk"]) {
    await app.send(task, queue, { queue });
  }
  await app.send(task, "bulk, urgent within its queue", { queue: "bulk", priority: 1 });
  const queuePriorities = { alerts: 1, mail: 10 };
  await app.worker({ queues: ["bulk", "mail", "alerts"], queuePriorities, concurrency: 1 }).start();
  await expect.poll(() => order.length).toBe(6);
  expect(order).toEqual([
    "alerts",
    "mail",
    "mail",
    "bulk, urgent within its queue",
    "bulk",
    "bulk",
  ]);
});

test("the priority of a configured queue orders the queues and is the default priority of its tasks", async () => {
  const { order, task } = recorder();
  const queues = { default: {}, alerts: { priority: 1 } };
  const app = db.app({ tasks: [task], queues });
  await app.send(task, "default");
  const alert = await app.send(task, "alert", { queue: "alerts" });
  expect((await alert.info()).priority).toBe(1);
  await app.worker({ concurrency: 1 }).start();
  await expect.poll(() => order.length).toBe(2);
  expect(order).toEqual(["alert", "default"]);
});

test("tasks that are not due do not delay due tasks, whatever their priority", async () => {
  const { order, task } = recorder();
  const app = db.app({ tasks: [task] });
  await app.sendMany(
    task,
    Array.from({ length: 5_000 }, () => "tomorrow"),
    { priority: 1, delayMs: 86_400_000 },
  );
  await app.send(task, "now");
  await app.worker({ concurrency: 1 }).start();
  await expect.poll(() => order).toEqual(["now"]);
});

test("an urgent task that arrives while others wait runs next", async () => {
  const order: string[] = [];
  let sendUrgent = async (): Promise<unknown> => undefined;
  const task = defineTask({
    name: "record",
    run: async (input: string) => {
      order.push(input);
      if (input === "first") await sendUrgent();
      return null;
    },
  });
  const app = db.app({ tasks: [task] });
  sendUrgent = () => app.send(task, "urgent", { priority: 1 });
  // A task of that priority is sent before, because a worker learns of a new lane only from its notification.
  await app.send(task, "zeroth", { priority: 1 });
  await app.sendMany(task, ["first", "second", "third"]);
  await app.worker({ concurrency: 1 }).start();
  await expect.poll(() => order.length).toBe(5);
  expect(order).toEqual(["zeroth", "first", "urgent", "second", "third"]);
});

test("tasks that another transaction locked and released keep their place in the queue", async () => {
  const { order, task } = recorder();
  const app = db.app({ tasks: [task] });
  const inputs = Array.from({ length: 300 }, (_, n) => String(n));
  await app.sendMany(task, inputs);
  await db.sql(
    `do $$ begin
       perform from posthaste.ready_tasks r join posthaste.submissions s using (task_id)
         where (s.input #>> '{}')::int % 10 = 0 for update of r;
       raise exception 'undone';
     exception when raise_exception then null; end $$`,
  );
  const [touched] = await db.sql<{ count: string }>(
    "select count(*) from posthaste.ready_tasks where xmax <> '0'",
  );
  expect(touched?.count).toBe("30");
  await app.worker({ concurrency: 1 }).start();
  await expect.poll(() => order.length).toBe(300);
  expect(order).toEqual(inputs);
});
