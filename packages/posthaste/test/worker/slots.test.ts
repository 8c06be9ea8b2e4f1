import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { SOON_MS } from "../support/soon.ts";
import { useHeldTasks } from "./held-task.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

async function statuses(): Promise<Record<string, number>> {
  const rows = await db.sql<{ status: string; n: number }>(
    "select status, count(*)::int as n from posthaste.tasks group by status",
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

test("a worker with three slots runs exactly three handlers and claims no task without a slot", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  await app.sendMany(held.task, ["a", "b", "c", "d", "e"]);
  await app.worker({ concurrency: 3 }).start();
  await held.begun(3);
  expect(await statuses()).toEqual({ RUNNING: 3, PENDING: 2 });
  expect(held.bodies).toHaveLength(3);
});

test("a worker fills a free slot at once, with one task", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], resilience: { notifyPollIntervalMs: 60_000 } });
  await app.sendMany(held.task, ["a", "b", "c", "d", "e"]);
  await app.worker({ concurrency: 3 }).start();
  await held.begun(3);
  const freedAt = performance.now();
  held.bodies[1]?.finish.open();
  await held.begun(4);
  expect(performance.now() - freedAt).toBeLessThan(SOON_MS);
  expect(await statuses()).toEqual({ COMPLETED: 1, RUNNING: 3, PENDING: 1 });
  expect(held.inputs()).toEqual(["a", "b", "c", "d"]);
});

test("a worker never exceeds its slots, however fast handlers end and tasks arrive", async () => {
  let running = 0;
  let most = 0;
  const brief = defineTask({
    name: "brief",
    run: async (turns: number) => {
      most = Math.max(most, ++running);
      for (let turn = 0; turn < turns; turn++) await nextTurn();
      running--;
      return null;
    },
  });
  const app = db.app({ tasks: [brief], prefetchBuffer: 10 });
  await app.worker({ concurrency: 4 }).start();
  const handles = await Promise.all(Array.from({ length: 400 }, (_, n) => app.send(brief, n % 7)));
  await Promise.all(handles.map((handle) => handle.value({ timeoutMs: 30_000 })));
  expect(most).toBe(4);
});

test("a claim for a free slot stores the task as RUNNING, with claimed_at = started_at and without a lease", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  const handle = await app.send(held.task, "a");
  const worker = await app.worker().start();
  await held.begun(1);
  const [row] = await db.sql(
    `select status, claimed_at = started_at as "isOneMove", attempt_no, worker_id, claim_id, claim_expires_at
       from posthaste.tasks`,
  );
  const { taskId, claimId, workerId, attempt, name, queue } = held.bodies[0]?.ctx ?? {};
  expect(row).toEqual({
    status: "RUNNING",
    isOneMove: true,
    attempt_no: 1,
    worker_id: worker.id,
    claim_id: claimId,
    claim_expires_at: null,
  });
  expect({ taskId, workerId, attempt, name, queue }).toEqual({
    taskId: handle.id,
    workerId: worker.id,
    attempt: 1,
    name: "held",
    queue: "default",
  });
});

test("two workers share the work and run no task twice", async () => {
  const runs: string[] = [];
  const ranBy = new Set<string>();
  const once = defineTask({
    name: "once",
    run: async (_: number, ctx) => {
      runs.push(ctx.taskId);
      ranBy.add(ctx.workerId);
      await nextTurn();
      return null;
    },
  });
  const [one, two] = [db.app({ tasks: [once] }), db.app({ tasks: [once] })];
  await Promise.all([
    one.worker({ concurrency: 5 }).start(),
    two.worker({ concurrency: 5 }).start(),
  ]);
  const handles = await one.sendMany(
    once,
    Array.from({ length: 500 }, (_, n) => n),
  );
  await Promise.all(handles.map((handle) => handle.value({ timeoutMs: 30_000 })));
  expect(runs).toHaveLength(500);
  expect(new Set(runs).size).toBe(500);
  expect(ranBy.size).toBe(2);
});

test("two workers of one app share its listener and stop one by one", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  const first = await app.worker({ concurrency: 1 }).start();
  await app.worker({ concurrency: 1 }).start();
  await app.sendMany(held.task, ["a", "b", "c"]);
  await held.begun(2);
  const stopping = first.stop();
  held.bodies.find(({ ctx }) => ctx.workerId === first.id)?.finish.open();
  await stopping;
  expect(held.bodies).toHaveLength(2);
  held.finishAll();
  await held.begun(3);
  expect(held.bodies[2]?.ctx.workerId).not.toBe(first.id);
});

test("a task of a queue that no worker serves waits", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task] });
  await app.worker({ queues: ["served"] }).start();
  const waiting = await app.send(held.task, "waits", { queue: "other" });
  await app.send(held.task, "runs", { queue: "served" });
  await held.begun(1);
  expect(held.inputs()).toEqual(["runs"]);
  expect((await waiting.info()).status).toBe("PENDING");
});
