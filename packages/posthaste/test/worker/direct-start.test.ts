/** A task starts at once, without waiting in the queue, if a worker of the app that sends it has a free slot. */
import { AsyncLocalStorage } from "node:async_hooks";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { defineTask, type Posthaste } from "../../src/index.ts";
import type { Decide } from "../support/fault-proxy.ts";
import { cutOnce, useFaultyWires } from "../faults/faulty-wire.ts";
import { recordEvents } from "../hooks/recorded-events.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait-until.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const openWire = useFaultyWires(db);
const heldTask = useHeldTasks();

const note = defineTask({ name: "note", run: (text: string) => text });
const direct = { directStart: true } as const;

/** Whether each task was started by the statement that sent it, in the order of their ids. */
async function startedAtOnce(ids: readonly string[]): Promise<boolean[]> {
  const rows = await db.sql<{ direct: boolean }>(
    `select coalesce(started_at = sent_at, false) as direct from posthaste.tasks where id = any ($1) order by id`,
    [ids],
  );
  return rows.map((row) => row.direct);
}

/** Resolves when the worker of this app has looked for tasks, found none in the queue, and is idle. */
async function untilIdle(app: Posthaste): Promise<void> {
  await waitUntil("a direct start", async () => {
    const handle = await app.send(note, "warm");
    await handle.value({ timeoutMs: 30_000 });
    return (await startedAtOnce([handle.id]))[0];
  });
  await new Promise((resolve) => setTimeout(resolve, 300)); // the claim that follows the end of the task
}

test("a send to an idle worker stores the task as RUNNING in one statement, and each task gets its own result", async () => {
  const app = db.app({ ...direct, tasks: [note] });
  await app.worker().start();
  const handles = [];
  for (let n = 0; n < 20; n++) {
    const handle = await app.send(note, `n${n}`);
    expect(await handle.value({ timeoutMs: 30_000 })).toBe(`n${n}`);
    handles.push(handle);
  }
  const direct20 = await startedAtOnce(handles.map(({ id }) => id));
  // A task that is sent while a claim is under way waits in the queue, and claims take long on a busy machine.
  expect(direct20).toContain(true);
});

test("send() resolves and the taskSent hook is called before the handler begins", async () => {
  const { hooks, events } = recordEvents();
  const order: string[] = [];
  const told = defineTask({ name: "told", run: () => void order.push("begins") });
  const app = db.app({ ...direct, tasks: [told, note], hooks });
  await app.worker().start();
  await untilIdle(app);
  const handle = await app.send(told, undefined);
  order.push("sent");
  await handle.result({ timeoutMs: 30_000 });
  expect(await startedAtOnce([handle.id])).toEqual([true]);
  expect(order).toEqual(["sent", "begins"]);
  const ofIt = events.filter(({ id }) => id === handle.id).map(({ event }) => event);
  await expect.poll(() => ofIt.slice(0, 2)).toEqual(["taskSent", "taskStarted"]);
});

test("a task without a free slot waits in the queue, and the worker never runs more tasks than it has slots", async () => {
  const held = heldTask();
  const app = db.app({ ...direct, tasks: [held.task] });
  await app.worker({ concurrency: 2 }).start();
  const handles = await Promise.all(
    ["a", "b", "c", "d", "e"].map((one) => app.send(held.task, one)),
  );
  await held.begun(2);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(held.bodies).toHaveLength(2);
  held.finishAll();
  await held.begun(4);
  held.finishAll();
  await held.begun(5);
  held.finishAll();
  const values = await Promise.all(handles.map((each) => each.value({ timeoutMs: 30_000 })));
  expect(values.sort()).toEqual(["a done", "b done", "c done", "d done", "e done"]);
});

describe("tasks that wait in the queue for any worker", () => {
  test("a task sent by a running task waits in the queue, so that all workers can share the work", async () => {
    const parent = defineTask({
      name: "parent",
      run: async () => (await app.send(note, "child")).id,
    });
    const app = db.app({ ...direct, tasks: [parent, note] });
    await app.worker({ concurrency: 10 }).start();
    const id = await (await app.send(parent, undefined)).value({ timeoutMs: 30_000 });
    await app.task(note, id).result({ timeoutMs: 30_000 });
    expect(await startedAtOnce([id])).toEqual([false]);
  });

  test.each([
    ["a delay", { delayMs: 50 }],
    ["a deadline", { goodUntil: new Date(Date.now() + 60_000) }],
    ["a key", { key: "k" }],
  ])("a task sent with %s waits in the queue", async (_, options) => {
    const app = db.app({ ...direct, tasks: [note] });
    await app.worker().start();
    const handle = await app.send(note, "x", options);
    await handle.result({ timeoutMs: 30_000 });
    expect(await startedAtOnce([handle.id])).toEqual([false]);
  });

  test("a task of a paused queue waits in the queue", async () => {
    const app = db.app({ ...direct, tasks: [note] });
    await app.worker().start();
    await app.admin.queues.pause("default");
    const handle = await app.send(note, "x");
    expect((await handle.info()).status).toBe("PENDING");
    await app.admin.queues.resume("default");
    await handle.result({ timeoutMs: 30_000 });
  });

  test("a task of a capped queue waits in the queue, and a task of an uncapped queue starts directly", async () => {
    const queues = { narrow: { maxConcurrency: 3 }, default: {} };
    const app = db.app({ ...direct, tasks: [note], queues });
    await app.worker().start();
    const handle = await app.send(note, "x", { queue: "narrow" });
    await handle.result({ timeoutMs: 30_000 });
    expect(await startedAtOnce([handle.id])).toEqual([false]);
    await untilIdle(app); // by a direct start in the default queue
  });

  test.each([
    ["clusterWideCap", { config: { clusterWideCap: 5 }, worker: {} }],
    ["maxClaimBatch", { config: {}, worker: { maxClaimBatch: 5 } }],
  ])("every task waits in the queue when %s is set", async (_, { config, worker }) => {
    const app = db.app({ ...direct, ...config, tasks: [note] });
    await app.worker(worker).start();
    const handle = await app.send(note, "x");
    await handle.result({ timeoutMs: 30_000 });
    expect(await startedAtOnce([handle.id])).toEqual([false]);
  });

  test("every task waits in the queue when directStart is off", async () => {
    const app = db.app({ directStart: false, tasks: [note] });
    await app.worker().start();
    const handle = await app.send(note, "x");
    await handle.result({ timeoutMs: 30_000 });
    expect(await startedAtOnce([handle.id])).toEqual([false]);
  });
});

test("a task sent in the caller's transaction does not exist before the commit, and does not start directly", async () => {
  const app = db.app({ ...direct, tasks: [note] });
  await app.worker().start();
  const client = new pg.Client(db.url);
  await client.connect();
  await client.query("begin");
  const handle = await app.send(note, "x", { tx: client });
  expect(await startedAtOnce([handle.id])).toEqual([]);
  await client.query("commit");
  await client.end();
  await handle.result({ timeoutMs: 30_000 });
  expect(await startedAtOnce([handle.id])).toEqual([false]);
});

test("a handler does not see the asynchronous context of its sender", async () => {
  const requests = new AsyncLocalStorage<string>();
  const seen = defineTask({ name: "seen", run: () => requests.getStore() ?? "nothing" });
  const app = db.app({ ...direct, tasks: [seen] });
  await app.worker().start();
  // A send does not start directly while the worker has a claim under way.
  await waitUntil("a direct start", async () => {
    const handle = await requests.run("a request", () => app.send(seen, undefined));
    expect(await handle.value({ timeoutMs: 30_000 })).toBe("nothing");
    return (await startedAtOnce([handle.id]))[0];
  });
});

test("stop() waits for a task that is being stored for this worker, and leaves no task RUNNING", async () => {
  const held = heldTask();
  const app = db.app({ ...direct, tasks: [held.task] });
  const worker = await app.worker({ concurrency: 5 }).start();
  const sending = app.send(held.task, "a");
  await Promise.resolve();
  const stopping = worker.stop();
  const handle = await sending;
  const { status } = await handle.info();
  if (status === "RUNNING") await held.begun(1);
  held.finishAll();
  await stopping;
  expect(["COMPLETED", "PENDING"]).toContain((await handle.info()).status);
});

describe("direct start over a connection that breaks at the statement", () => {
  test.each(["question", "answer"] as const)(
    "the handler runs once when the %s is lost",
    async (place) => {
      const held = heldTask();
      const { cut, toServer, toClient } = cutOnce(/is_started/, place);
      let isArmed = false;
      const whenArmed: Decide = (bytes, link) => (isArmed ? toServer(bytes, link) : "none");
      const faults = { toServer: whenArmed, toClient };
      const { app } = await openWire(faults, { ...direct, tasks: [held.task, note] });
      await app.worker({ concurrency: 5 }).start();
      await untilIdle(app);
      isArmed = true;
      const handle = await app.send(held.task, "a");
      expect(cut.times).toBe(1);
      await held.begun(1);
      held.finishAll();
      expect(await handle.value({ timeoutMs: 30_000 })).toBe("a done");
      expect(held.inputs()).toEqual(["a"]);
      expect(await startedAtOnce([handle.id])).toEqual([place === "answer"]);
    },
  );
});

test("a send whose answer does not arrive keeps its slot only for a short time, and the handler runs once", async () => {
  const held = heldTask();
  let link = -1;
  let isArmed = false;
  const toServer: Decide = (bytes, from) => {
    if (isArmed && link < 0 && bytes.includes("is_started")) link = from;
    return "none";
  };
  const toClient: Decide = (_, to) => (to === link ? "hang before" : "none");
  const tasks = [held.task, note];
  const { app, proxy } = await openWire({ toServer, toClient }, { ...direct, tasks });
  await app.worker({ concurrency: 1 }).start();
  await untilIdle(app);
  isArmed = true;
  const sending = app.send(held.task, "a");
  await held.begun(1);
  held.finishAll();
  const other = await db.app().send(held.task, "b");
  await held.begun(2);
  held.finishAll();
  expect(await other.value({ timeoutMs: 30_000 })).toBe("b done");
  proxy.heal();
  proxy.cutAll();
  expect(await (await sending).value({ timeoutMs: 30_000 })).toBe("a done");
  expect(held.inputs()).toEqual(["a", "b"]);
});
