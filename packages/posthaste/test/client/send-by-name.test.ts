/** `admin.tasks.send()`: a task by its name, without its definition. */
import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);
const mail = defineTask({ name: "mail", queue: "post", run: (to: string) => `sent to ${to}` });

test("send() takes queue and options of the definition that a worker registered, and the task runs", async () => {
  const app = db.app({ tasks: [mail], queues: { post: { priority: 5 } } });
  const worker = app.worker();
  await worker.start();
  const id = await db.app().admin.tasks.send("mail", "ada");
  expect(await app.task(mail, id).value()).toBe("sent to ada");
  expect(await app.admin.tasks.get(id)).toMatchObject({ queue: "post", priority: 5 });
  await worker.stop();
});

test("send() sends what it is told: queue, priority, delay, key", async () => {
  const { tasks } = db.app().admin;
  const options = { queue: "q", priority: 9, delayMs: 60_000, key: "k", force: true };
  const id = await tasks.send("mail", { a: 1 }, options);
  expect(await tasks.send("mail", { a: 1 }, options)).toBe(id);
  const sent = await tasks.timeline(id);
  expect(sent).toMatchObject({ queue: "q", priority: 9, key: "k", input: { a: 1 }, node: null });
  expect(Number(sent.enqueuedAt) - Number(sent.sentAt)).toBeGreaterThan(59_000);
  expect(sent.events.map(({ event }) => event)).toEqual(["sent", "due"]);
});

test("send() refuses a name that no worker has registered, and all invalid options at once", async () => {
  const { tasks } = db.app().admin;
  await expect(tasks.send("mial")).rejects.toMatchObject({
    code: "TASK_NOT_FOUND",
    message: expect.stringContaining("Known: none."),
  });
  const wrong = { priority: 0, queue: "no spaces", dely: 1 } as object;
  await expect(tasks.send("", null, wrong)).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
    problems: [
      { message: expect.stringContaining('unknown option "dely"') },
      { path: "options.priority" },
      { path: "name" },
      { path: "options.queue" },
    ],
  });
  expect(await db.sql("select from posthaste.submissions")).toEqual([]);
});
