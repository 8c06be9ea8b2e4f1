/** The hooks of a real worker: each event is reported once, in order, and only after it is stored. */
import pg from "pg";
import { describe, expect, test } from "vitest";
import { defineTask, fail, fixed } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";
import { recordingLogger } from "../support/loggers.ts";
import { useHeldTasks } from "../worker/held-task.ts";
import { recordEvents } from "./recorded-events.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

const greet = defineTask({ name: "greet", run: (name: string) => `hello ${name}` });
const flaky = defineTask({
  name: "flaky",
  errors: ["BUSY"],
  retry: fixed({ intervalsMs: [0], retryFor: ["BUSY"], jitter: false }),
  run: () => fail("BUSY", "try again", { queue: 3 }),
});

describe("hooks of an attempt", () => {
  test("taskStarted and taskCompleted are called with the attempt and the worker", async () => {
    const { hooks, events, about } = recordEvents();
    const app = db.app({ tasks: [greet], hooks });
    const worker = await app.worker().start();
    const handle = await app.send(greet, "Ada");
    await handle.value({ timeoutMs: 30_000 });
    await expect.poll(() => about(handle.id)).toEqual(["taskSent", "taskStarted", "taskCompleted"]);
    const run = {
      id: handle.id,
      name: "greet",
      queue: "default",
      attempt: 1,
      workerId: worker.id,
    };
    expect(events).toContainEqual({ event: "taskStarted", ...run });
    expect(events).toContainEqual({
      event: "taskCompleted",
      ...run,
      durationMs: expect.any(Number),
    });
  });

  test("taskCompleted reports how long the handler took", async () => {
    const { hooks, events } = recordEvents();
    const held = heldTask();
    const app = db.app({ tasks: [held.task], hooks });
    await app.worker().start();
    const handle = await app.send(held.task, "x");
    await held.begun(1);
    const since = performance.now();
    await handle.info(); // a round trip that takes some time
    const atLeast = performance.now() - since;
    held.finishAll();
    await handle.value({ timeoutMs: 30_000 });
    await expect
      .poll(() => events.find(({ event }) => event === "taskCompleted")?.["durationMs"])
      .toBeGreaterThanOrEqual(atLeast);
  });

  test("a failed attempt calls taskRetried while retries remain and then taskFailed, each before the next taskStarted", async () => {
    const { hooks, events, about } = recordEvents();
    const app = db.app({ tasks: [flaky], hooks });
    await app.worker().start();
    const handle = await app.send(flaky);
    await handle.result({ timeoutMs: 30_000 });
    await expect
      .poll(() => about(handle.id))
      .toEqual(["taskSent", "taskStarted", "taskRetried", "taskStarted", "taskFailed"]);
    const error = { code: "BUSY", message: "try again", data: { queue: 3 } };
    expect(events[events.findIndex(({ event }) => event === "taskRetried")]).toMatchObject({
      attempt: 1,
      delayMs: 0,
      error,
    });
    expect(events.at(-1)).toMatchObject({ event: "taskFailed", attempt: 2, error });
  });

  test("a failed attempt that could be retried only after its deadline calls taskFailed", async () => {
    const { hooks, about } = recordEvents();
    const late = defineTask({
      name: "late",
      errors: ["BUSY"],
      retry: fixed({ intervalsMs: [60_000], retryFor: ["BUSY"] }),
      run: () => fail("BUSY"),
    });
    const app = db.app({ tasks: [late], hooks });
    await app.worker().start();
    const handle = await app.send(late, undefined, { goodUntil: new Date(Date.now() + 30_000) });
    await handle.result({ timeoutMs: 30_000 });
    await expect.poll(() => about(handle.id)).toEqual(["taskSent", "taskStarted", "taskFailed"]);
  });

  test("a prefetched task calls taskStarted when it starts, not when it is claimed", async () => {
    const { hooks, about } = recordEvents();
    const held = heldTask();
    const app = db.app({ tasks: [held.task], hooks, prefetchBuffer: 2 });
    await app.worker({ concurrency: 1 }).start();
    const [, second] = await app.sendMany(held.task, ["a", "b"]);
    await expect.poll(async () => (await second?.info())?.status).toBe("CLAIMED");
    expect(about(second?.id ?? "")).toEqual(["taskSent"]);
    await held.begun(1);
    held.bodies[0]?.finish.open();
    await held.begun(2);
    expect(about(second?.id ?? "")).toEqual(["taskSent", "taskStarted"]);
  });

  test("an attempt that completes in a transaction calls taskCompleted once, after the commit", async () => {
    const { hooks, about } = recordEvents();
    const transfer = defineTask({
      name: "transfer",
      run: (_, ctx) => ctx.transaction(async () => 5),
    });
    const complete = defineTask({
      name: "complete",
      run: async (_, ctx) => {
        const client = new pg.Client(db.url);
        await client.connect();
        await client.query("begin");
        await ctx.complete(6, { tx: client });
        await client.query("commit");
        await client.end();
        return 6;
      },
    });
    const app = db.app({ tasks: [transfer, complete], hooks });
    await app.worker().start();
    for (const task of [transfer, complete]) {
      const handle = await app.send(task);
      await handle.value({ timeoutMs: 30_000 });
      await expect
        .poll(() => about(handle.id))
        .toEqual(["taskSent", "taskStarted", "taskCompleted"]);
    }
  });

  test("an attempt that lost its claim calls no hook at its end, and the new attempt calls taskCompleted", async () => {
    const { hooks, events, about } = recordEvents();
    const logger = recordingLogger();
    const held = heldTask();
    const app = db.app({ tasks: [held.task], hooks, logger });
    await app.worker({ concurrency: 2 }).start();
    const handle = await app.send(held.task, "x");
    await held.begun(1);
    await db.sql("select posthaste.requeue($1)", [handle.id]);
    await held.begun(2);
    held.bodies[0]?.finish.open();
    await expect
      .poll(() => logger.lines.some(({ message }) => message.includes("dropping its late result")))
      .toBe(true);
    expect(about(handle.id)).toEqual(["taskSent", "taskStarted", "taskStarted"]);
    held.finishAll();
    await expect.poll(() => about(handle.id)).toHaveLength(4);
    expect(events.at(-1)).toMatchObject({ event: "taskCompleted", attempt: 2 });
  });

  test("an attempt whose result PostgreSQL refuses calls taskFailed", async () => {
    const { hooks, events, about } = recordEvents();
    const deep = defineTask({
      name: "deep",
      run: () => JSON.parse("[".repeat(9_000) + "]".repeat(9_000)) as [],
    });
    const app = db.app({ tasks: [deep], hooks });
    await app.worker().start();
    const handle = await app.send(deep);
    await handle.result({ timeoutMs: 30_000 });
    await expect.poll(() => about(handle.id)).toEqual(["taskSent", "taskStarted", "taskFailed"]);
    expect(events.at(-1)).toMatchObject({ error: { code: "WORKER_SERIALIZATION_ERROR" } });
  });
});

describe("hooks of cancelled and expired tasks", () => {
  test("the app that cancels a waiting task calls taskCancelled", async () => {
    const { hooks, events, about } = recordEvents();
    const app = db.app({ tasks: [greet], hooks });
    const [one, two] = await app.sendMany(greet, ["a", "b"], { delayMs: 60_000, queue: "mail" });
    await one?.cancel();
    await app.admin.tasks.cancel(two?.id ?? "");
    for (const handle of [one, two])
      await expect.poll(() => about(handle?.id ?? "")).toEqual(["taskSent", "taskCancelled"]);
    expect(events).toContainEqual({
      event: "taskCancelled",
      id: one?.id,
      name: "greet",
      queue: "mail",
    });
    expect(await one?.cancel()).toBe("finished");
    expect(about(one?.id ?? "")).toHaveLength(2);
  });

  test("a running task with a requested cancellation calls taskCancelled and not taskCompleted", async () => {
    const { hooks, about } = recordEvents();
    const held = heldTask();
    const app = db.app({ tasks: [held.task], hooks });
    await app.worker().start();
    const handle = await app.send(held.task, "x");
    await held.begun(1);
    expect(await handle.cancel()).toBe("requested");
    held.finishAll();
    await handle.result({ timeoutMs: 30_000 });
    await expect.poll(() => about(handle.id)).toEqual(["taskSent", "taskStarted", "taskCancelled"]);
  });

  test("a claim that expires a task calls taskExpired", async () => {
    const { hooks, events, about } = recordEvents();
    const app = db.app({ tasks: [greet], hooks });
    const handle = await app.send(greet, "a", { goodUntil: new Date(Date.now() - 1_000) });
    await app.worker().start();
    await handle.result({ timeoutMs: 30_000 });
    await expect.poll(() => about(handle.id)).toEqual(["taskSent", "taskExpired"]);
    expect(events.at(-1)).toEqual({
      event: "taskExpired",
      id: handle.id,
      name: "greet",
      queue: "default",
    });
  });

  test("a maintenance pass that expires a task calls taskExpired", async () => {
    const { hooks, about } = recordEvents();
    const app = db.app({ tasks: [greet], hooks, recovery: { checkIntervalMs: 1_000 } });
    const handle = await app.send(greet, "a", {
      queue: "nobody",
      goodUntil: new Date(Date.now() - 1_000),
    });
    await app.worker({ queues: ["default"] }).start();
    await expect.poll(() => about(handle.id)).toEqual(["taskSent", "taskExpired"]);
  });
});

test("a worker calls workerStarted when it has started and workerStopped when it has stopped", async () => {
  const { hooks, events } = recordEvents();
  const app = db.app({ tasks: [greet], hooks });
  const worker = await app.worker({ name: "one", queues: ["a", "b"] }).start();
  const event = { workerId: worker.id, name: "one", queues: ["a", "b"] };
  expect(events).toEqual([{ event: "workerStarted", ...event }]);
  await worker.stop();
  expect(events.slice(1)).toEqual([{ event: "workerStopped", ...event }]);
});

test("hooks that throw, reject or never end do not delay the task", async () => {
  const logger = recordingLogger();
  const never = gate();
  const app = db.app({
    tasks: [greet],
    logger,
    hooks: {
      taskSent: () => {
        throw new Error("sent");
      },
      taskStarted: async () => Promise.reject(new Error("started")),
      taskCompleted: [() => never.opened, () => Promise.reject(new Error("completed"))],
    },
  });
  await app.worker().start();
  expect(await (await app.send(greet, "Ada")).value({ timeoutMs: 30_000 })).toBe("hello Ada");
  await expect
    .poll(() => logger.lines.flatMap(({ fields }) => ("hook" in fields ? fields["hook"] : [])))
    .toEqual(["taskSent", "taskStarted", "taskCompleted"]);
  never.open();
});
