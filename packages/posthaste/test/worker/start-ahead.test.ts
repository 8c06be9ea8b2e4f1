/** With startAhead a prefetched task that may run again is stored as RUNNING and begins without another round trip. */
import { expect, test, vi } from "vitest";
import { defineTask } from "../../src/index.ts";
import { cutOnce, useFaultyWires } from "../faults/faulty-wire.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import type { Decide } from "../support/fault-proxy.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const openWire = useFaultyWires(db);
const heldTask = useHeldTasks();
vi.setConfig({ testTimeout: 30_000 });

const ahead = { prefetchBuffer: 3, startAhead: true } as const;
const again = { onCrash: "requeue" } as const;

async function running(): Promise<number> {
  const rows = await db.sql("select from posthaste.active_tasks where started_at is not null");
  return rows.length;
}

/** The transactions that have last written the rows of these tasks. */
async function writers(ids: readonly string[]): Promise<string[]> {
  const rows = await db.sql<{ xmin: string }>(
    "select xmin::text from posthaste.active_tasks where task_id = any ($1) order by task_id",
    [ids],
  );
  return rows.map(({ xmin }) => xmin);
}

test("the worker stores prefetched tasks as RUNNING and begins them in order, within its slots and without another write", async () => {
  const held = heldTask("held", again);
  const app = db.app({ ...ahead, tasks: [held.task] });
  await app.worker({ concurrency: 2 }).start();
  const handles = await app.sendMany(held.task, ["a", "b", "c", "d", "e"]);
  await held.begun(2);
  await expect.poll(running).toBe(5);
  const waiting = handles.slice(2).map(({ id }) => id);
  const fetched = await writers(waiting);
  expect(held.inputs()).toEqual(["a", "b"]);
  held.bodies[0]?.finish.open();
  held.bodies[1]?.finish.open();
  await held.begun(4);
  expect(held.inputs()).toEqual(["a", "b", "c", "d"]);
  expect(await writers(waiting)).toEqual(fetched);
  held.finishAll();
  await held.begun(5);
  held.finishAll();
  const values = await Promise.all(handles.map((handle) => handle.value({ timeoutMs: 30_000 })));
  expect(values).toEqual(["a done", "b done", "c done", "d done", "e done"]);
  const { attempts } = (await handles[4]?.info()) ?? {};
  expect(attempts).toMatchObject([{ attempt: 1, outcome: "COMPLETED" }]);
});

test("a task that may not run again keeps its place among prefetched tasks that may", async () => {
  const held = heldTask("held", again);
  const careful = heldTask("careful");
  const app = db.app({ ...ahead, tasks: [held.task, careful.task] });
  await app.worker({ concurrency: 1 }).start();
  await app.send(held.task, "a");
  await held.begun(1);
  await app.send(careful.task, "b");
  await app.send(held.task, "c");
  await expect.poll(running).toBe(2);
  held.finishAll();
  await careful.begun(1);
  expect(held.inputs()).toEqual(["a"]);
  careful.finishAll();
  await held.begun(2);
  held.finishAll();
  expect(held.inputs()).toEqual(["a", "c"]);
});

test("a prefetched task that waits for room under a cap delays no task behind it, and runs when there is room", async () => {
  const wide = heldTask("wide", again);
  const slow = heldTask("slow", { queue: "narrow", priority: 1 });
  const queues = { narrow: { maxConcurrency: 1 }, default: {} };
  const app = db.app({
    prefetchBuffer: 20,
    startAhead: true,
    queues,
    tasks: [wide.task, slow.task],
  });
  const worker = app.worker({ concurrency: 2, queuePriorities: { narrow: 1, default: 50 } });
  await app.sendMany(slow.task, ["s1", "s2"]);
  await app.sendMany(wide.task, ["w1", "w2", "w3", "w4", "w5", "w6"]);
  await worker.start();
  await slow.begun(1);
  for (const count of [1, 2, 3, 4]) {
    await wide.begun(count);
    wide.finishAll();
  }
  expect(slow.inputs()).toEqual(["s1"]);
  slow.finishAll();
  await wide.begun(6);
  wide.finishAll();
  await slow.begun(2);
  slow.finishAll();
});

test("a prefetched task that is cancelled ends CANCELLED and never runs", async () => {
  const held = heldTask("held", again);
  const app = db.app({ ...ahead, tasks: [held.task] });
  await app.worker({ concurrency: 1 }).start();
  const [, waiting, last] = await app.sendMany(held.task, ["a", "b", "c"]);
  await held.begun(1);
  await expect.poll(running).toBe(3);
  await waiting?.cancel();
  expect(await waiting?.result({ timeoutMs: 30_000 })).toMatchObject({
    ok: false,
    error: { code: "TASK_CANCELLED" },
  });
  expect((await waiting?.info())?.attempts).toEqual([]);
  held.finishAll();
  await held.begun(2);
  held.finishAll();
  await last?.value({ timeoutMs: 30_000 });
  expect(held.inputs()).toEqual(["a", "c"]);
});

test.each([
  ["the queue is paused", "pause"],
  ["the worker stops", "stop"],
] as const)("a prefetched task is released without an attempt when %s", async (_, what) => {
  const held = heldTask("held", again);
  const app = db.app({ ...ahead, tasks: [held.task] });
  const worker = await app.worker({ concurrency: 1 }).start();
  const [first, waiting] = await app.sendMany(held.task, ["a", "b"]);
  await held.begun(1);
  await expect.poll(running).toBe(2);
  const stopping = what === "stop" ? worker.stop() : app.admin.queues.pause("default");
  await expect.poll(running).toBe(1);
  held.finishAll();
  await stopping;
  await first?.value({ timeoutMs: 30_000 });
  expect(await waiting?.info()).toMatchObject({ status: "PENDING", attempts: [], startedAt: null });
  expect(held.inputs()).toEqual(["a"]);
  await app.admin.queues.resume("default");
});

test("the worker finds a prefetched task whose claim was not acknowledged, and runs it once when a slot is free", async () => {
  const held = heldTask("held", again);
  const { cut, ...faults } = cutOnce(/known as[\s\S]*claim_expires_at/, "answer");
  const { app } = await openWire(faults, { ...ahead, tasks: [held.task] });
  const handles = await app.sendMany(held.task, ["a", "b", "c"]);
  await app.worker({ concurrency: 1 }).start();
  await held.begun(1);
  expect(cut.times).toBe(1);
  await expect.poll(running).toBe(3);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(held.bodies).toHaveLength(1);
  for (const count of [2, 3]) {
    held.finishAll();
    await held.begun(count);
  }
  held.finishAll();
  await Promise.all(handles.map((handle) => handle.value({ timeoutMs: 30_000 })));
  expect(held.inputs().sort()).toEqual(["a", "b", "c"]);
});

test("two workers run each of 2,000 tasks once", async () => {
  const runs = new Map<string, number>();
  const count = defineTask({
    name: "count",
    ...again,
    run: async (key: string) => void runs.set(key, (runs.get(key) ?? 0) + 1),
  });
  const app = db.app({ prefetchBuffer: 50, startAhead: true, tasks: [count] });
  const keys = Array.from({ length: 2_000 }, (_, n) => `k${n}`);
  const handles = await app.sendMany(count, keys);
  await Promise.all([1, 2].map(() => app.worker({ concurrency: 10 }).start()));
  await Promise.all(handles.map((handle) => handle.result({ timeoutMs: 30_000 })));
  expect([...runs.values()].filter((times) => times !== 1)).toEqual([]);
  expect(runs.size).toBe(2_000);
});

test("the worker writes each end once while claims are under way, although connections break", async () => {
  const cut = { times: 0 };
  const toServer: Decide = (bytes) => {
    const isEnd = /delete from "posthaste"\.active_tasks/.test(bytes.toString("latin1"));
    return isEnd && ++cut.times % 3 === 1 ? "cut before" : "none";
  };
  const echo = defineTask({ name: "echo", ...again, run: async (text: string) => text });
  const { app } = await openWire({ toServer }, { ...ahead, tasks: [echo] });
  const texts = Array.from({ length: 100 }, (_, n) => `t${n}`);
  const handles = await app.sendMany(echo, texts);
  await app.worker({ concurrency: 5 }).start();
  const values = await Promise.all(handles.map((handle) => handle.value({ timeoutMs: 30_000 })));
  expect(values).toEqual(texts);
  expect(cut.times).toBeGreaterThan(1); // a statement was cut, and sent again
  const attempts = await db.sql("select from posthaste.attempts");
  expect(attempts).toEqual([]);
});
