/** Heartbeats of real workers: their sender, their time and their claim. */
import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";
import { useHeldTasks } from "../worker/held-task.ts";

const db = useDatabase();
useCleanTables(db);
const heldTask = useHeldTasks();

const often = { runnerHeartbeatIntervalMs: 1_000, claimerHeartbeatIntervalMs: 1_000 };

async function beats(id: string): Promise<unknown[]> {
  return db.sql(
    "select claim_id, sender_id, role, hostname, pid from posthaste.heartbeats where task_id = $1 order by id",
    [id],
  );
}

test("a worker writes heartbeats as runner of a running task and as claimer of a prefetched task, under their claims", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], recovery: often, prefetchBuffer: 1 });
  const worker = await app.worker({ concurrency: 1 }).start();
  const running = await app.send(held.task, "runs");
  await held.begun(1);
  const waiting = await app.send(held.task, "waits");

  await expect.poll(() => beats(running.id)).toHaveLength(2);
  await expect.poll(() => beats(waiting.id)).toHaveLength(2);

  const [runs] = await db.sql("select * from posthaste.active_tasks where task_id = $1", [
    running.id,
  ]);
  const [waits] = await db.sql("select * from posthaste.active_tasks where task_id = $1", [
    waiting.id,
  ]);
  const sender = { sender_id: worker.id, hostname: expect.any(String), pid: process.pid };
  expect((await beats(running.id))[0]).toEqual({
    claim_id: runs?.["claim_id"],
    role: "runner",
    ...sender,
  });
  expect((await beats(waiting.id))[0]).toEqual({
    claim_id: waits?.["claim_id"],
    role: "claimer",
    ...sender,
  });
  expect(runs?.["heartbeat_at"]).not.toBeNull();
});

test("a worker writes no heartbeats for a task that is shorter than the interval", async () => {
  const nap = defineTask({
    name: "nap",
    run: () => new Promise<void>((resolve) => setTimeout(resolve, 1_200)),
  });
  // All rounds together are longer than an interval; each round is so much shorter that a busy machine does not stretch it to one.
  const recovery = { ...often, runnerHeartbeatIntervalMs: 4_000 };
  const app = db.app({ tasks: [nap], recovery });
  await app.worker({ concurrency: 20 }).start();
  for (let round = 0; round < 4; round++) {
    const sent = await app.sendMany(
      nap,
      Array.from({ length: 20 }, () => undefined),
    );
    await Promise.all(sent.map((handle) => handle.value({ timeoutMs: 30_000 })));
  }
  expect(await db.sql("select count(*)::int as rows from posthaste.heartbeats")).toEqual([
    { rows: 0 },
  ]);
});

test("heartbeats continue while the worker drains", async () => {
  const held = heldTask();
  const app = db.app({ tasks: [held.task], recovery: often });
  const worker = await app.worker().start();
  const handle = await app.send(held.task, "long");
  await held.begun(1);
  const stopping = worker.stop();
  await expect.poll(() => beats(handle.id)).toHaveLength(2);
  held.finishAll();
  await stopping;
  expect(await handle.value()).toBe("long done");
});

test("heartbeats continue while a handler blocks the event loop, and the worker logs the block", async () => {
  const logger = recordingLogger();
  const spin = defineTask({
    name: "spin",
    run: (ms: number) => {
      for (const end = performance.now() + ms; performance.now() < end;);
    },
  });
  const held = heldTask();
  const app = db.app({ tasks: [spin, held.task], recovery: often, logger });
  await app.worker({ concurrency: 2 }).start();
  const beside = await app.send(held.task, "beside");
  await held.begun(1);
  await expect.poll(() => beats(beside.id)).toHaveLength(1);
  await (await app.send(spin, 5_000)).value({ timeoutMs: 30_000 });

  const [row] = await db.sql<{ rows: number }>(
    "select count(*)::int as rows from posthaste.heartbeats where task_id = $1",
    [beside.id],
  );
  expect(row?.rows).toBeGreaterThanOrEqual(3);
  const said = (): string => logger.lines.map(({ message }) => message).join("\n");
  await expect.poll(said).toContain("event loop was blocked");
});

test("a worker stores a snapshot of its load, processor, memory, lag and config", async () => {
  const app = db.app({ tasks: [defineTask({ name: "idle", run: () => null })] });
  const worker = await app.worker({ concurrency: 3 }).start();
  await expect
    .poll(() => db.sql("select * from posthaste.worker_states"))
    .toMatchObject([
      {
        worker_id: worker.id,
        state: "running",
        concurrency: 3,
        tasks_running: 0,
        tasks_claimed: 0,
      },
    ]);
  const [row] = await db.sql("select * from posthaste.worker_states");
  expect(Number(row?.["rss_bytes"])).toBeGreaterThan(1_000_000);
  expect(Number(row?.["heap_bytes"])).toBeGreaterThan(1_000_000);
  expect(row?.["cpu_percent"]).toBeGreaterThanOrEqual(0);
  expect(JSON.stringify(row?.["config"])).toContain("runningStaleThresholdMs");
});
