/** Why a task does not run: every gate, alone and with others. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  defineTask,
  defineWorkflow,
  fail,
  type Posthaste,
  type TaskGate,
} from "../../src/index.ts";
import { addActive, addOneReady, addReady, newQueue } from "../store/task-rows.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

interface Living {
  readonly queue: string;
  readonly name?: string;
  readonly taskName?: string;
  readonly concurrency?: number;
  readonly queueCap?: number;
  readonly clusterCap?: number;
  readonly prefetchBuffer?: number;
}

/** A worker that is registered and lives; it claims nothing. */
async function addWorker(living: Living): Promise<string> {
  const workerId = randomUUID();
  await db.store.registerWorker.register(await db.connect(), {
    workerId,
    name: living.name ?? `worker-${workerId.slice(0, 4)}`,
    hostname: "h",
    pid: 1,
    version: "1.0.0",
    queues: [living.queue],
    taskNames: [living.taskName ?? "some-task"],
    concurrency: living.concurrency ?? 5,
    livenessKey: null,
    config: {
      clusterWideCap: living.clusterCap ?? null,
      prefetchBuffer: living.prefetchBuffer ?? 0,
      "worker.queueMaxConcurrency":
        living.queueCap === undefined ? null : { [living.queue]: living.queueCap },
    },
    metadata: {},
  });
  return workerId;
}

async function gatesOf(app: Posthaste, id: string): Promise<readonly TaskGate[]> {
  return (await app.admin.tasks.explain(id)).gates;
}

const codesOf = (gates: readonly TaskGate[]): string[] => gates.map(({ code }) => code);

async function capped(queue: string, workerId: string, count: number) {
  const claims = await addActive(
    db,
    Array.from({ length: count }, () => ({ queue, workerId })),
  );
  const ids = claims.map(({ id }) => id);
  await db.sql("update posthaste.active_tasks set capped_queue = $2 where task_id = any ($1)", [
    ids,
    queue,
  ]);
  return ids;
}

describe("admin.tasks.explain", () => {
  test("finds no gate for a task that a worker claims next", async () => {
    const queue = newQueue();
    await addWorker({ queue });
    const id = await addOneReady(db, { queue });

    expect(await db.app().admin.tasks.explain(id)).toEqual({
      taskId: id,
      status: "PENDING",
      gates: [],
      asOf: expect.any(Date),
    });
  });

  test("says that no living worker serves the queue", async () => {
    const queue = newQueue();
    const dead = await addWorker({ queue });
    await db.sql("update posthaste.workers set state = 'dead' where worker_id = $1", [dead]);
    const silent = await addWorker({ queue });
    await db.sql(
      "update posthaste.workers set last_heartbeat_at = now() - interval '1 hour' where worker_id = $1",
      [silent],
    );
    const id = await addOneReady(db, { queue });

    expect(await gatesOf(db.app(), id)).toMatchObject([{ code: "NO_WORKER_FOR_QUEUE", queue }]);
  });

  test("says that the queue is paused, and since when", async () => {
    const queue = newQueue();
    const app = db.app();
    await addWorker({ queue });
    const id = await addOneReady(db, { queue });
    await app.admin.queues.pause(queue, { force: true });

    expect(await gatesOf(app, id)).toMatchObject([
      { code: "QUEUE_PAUSED", queue, pausedAt: expect.any(Date) },
    ]);
  });

  test("tells a delay from a retry", async () => {
    const queue = newQueue();
    await addWorker({ queue });
    const [delayed = "", retried = ""] = await addReady(db, [
      { queue, dueMs: 60_000 },
      { queue, dueMs: 60_000, runs: 1, retryCount: 1 },
    ]);

    expect(await gatesOf(db.app(), delayed)).toMatchObject([
      { code: "NOT_DUE", dueAt: expect.any(Date) },
    ]);
    expect(await gatesOf(db.app(), retried)).toMatchObject([{ code: "RETRY_AT", retryCount: 1 }]);
  });

  test("says that no worker of the queue knows the name", async () => {
    const queue = newQueue();
    await addWorker({ queue, name: "w1", taskName: "another" });
    const id = await addOneReady(db, { queue, name: "unknown" });

    expect(await gatesOf(db.app(), id)).toMatchObject([
      { code: "NO_WORKER_FOR_NAME", name: "unknown", workers: ["w1"] },
    ]);
  });

  test("names the tasks that fill the cap of a queue; claimed ones do not count for workers that prefetch", async () => {
    const queue = newQueue();
    const workerId = await addWorker({ queue, name: "w1", queueCap: 2 });
    const by = await capped(queue, workerId, 2);
    const id = await addOneReady(db, { queue });

    const [gate] = await gatesOf(db.app(), id);
    expect(gate).toMatchObject({ code: "QUEUE_CAP_FULL", queue, cap: 2, held: 2 });
    expect(gate?.code === "QUEUE_CAP_FULL" && new Set(gate.by.map((task) => task.id))).toEqual(
      new Set(by),
    );
    expect(gate).toMatchObject({
      by: [{ name: "some-task", worker: "w1", startedAt: expect.any(Date) }, {}],
    });

    await db.sql(
      "update posthaste.active_tasks set started_at = null, claimed_at = now(), claim_expires_at = now() + interval '1 hour' where task_id = $1",
      [by[0]],
    );
    expect(codesOf(await gatesOf(db.app(), id))).toEqual(["QUEUE_CAP_FULL"]);
    await db.sql(
      `update posthaste.workers set config = config || '{"prefetchBuffer": 5}' where worker_id = $1`,
      [workerId],
    );
    expect(await gatesOf(db.app(), id)).toEqual([]);
  });

  test("says that the cap of all workers is full", async () => {
    const queue = newQueue();
    const workerId = await addWorker({ queue, clusterCap: 1 });
    // Tasks of other tests count for no cap.
    await db.sql("update posthaste.active_tasks set capped_queue = null");
    await capped(newQueue(), workerId, 1);
    const id = await addOneReady(db, { queue });

    expect(await gatesOf(db.app(), id)).toMatchObject([
      { code: "CLUSTER_CAP_FULL", cap: 1, held: 1 },
    ]);
    await db.sql("update posthaste.active_tasks set capped_queue = null");
  });

  test("names workers that disagree about a cap; one with room may claim", async () => {
    const queue = newQueue();
    const workerId = await addWorker({ queue, name: "w1", queueCap: 1 });
    await addWorker({ queue, name: "w2", queueCap: 3 });
    await capped(queue, workerId, 1);
    const id = await addOneReady(db, { queue });

    const [gate, ...more] = await gatesOf(db.app(), id);
    expect(more).toEqual([]);
    expect(gate).toMatchObject({
      code: "CAPS_DISAGREE",
      queue,
      caps: [
        { cap: 1, workers: ["w1"] },
        { cap: 3, workers: ["w2"] },
      ],
    });
  });

  test("says that all slots are occupied", async () => {
    const queue = newQueue();
    const workerId = await addWorker({ queue, concurrency: 1 });
    await addActive(db, [{ queue, workerId }]);
    const id = await addOneReady(db, { queue });

    expect(await gatesOf(db.app(), id)).toMatchObject([{ code: "NO_FREE_SLOT", slots: 1 }]);
  });

  test("counts the due tasks before it", async () => {
    const queue = newQueue();
    await addWorker({ queue });
    await addReady(db, [
      { queue, priority: 1 },
      { queue, priority: 1, dueMs: 60_000 },
      { queue, dueMs: -5_000 },
      { queue, dueMs: -1 },
    ]);
    const id = await addOneReady(db, { queue, dueMs: -500 });

    expect(await gatesOf(db.app(), id)).toMatchObject([
      { code: "NOT_FIRST", ahead: 2, isAtLeast: false },
    ]);
  });

  test("stops counting at 10,000", async () => {
    const queue = newQueue();
    await addWorker({ queue });
    await addReady(
      db,
      Array.from({ length: 10_001 }, () => ({ queue, priority: 1 })),
    );
    const id = await addOneReady(db, { queue });

    expect(await gatesOf(db.app(), id)).toMatchObject([
      { code: "NOT_FIRST", ahead: 10_000, isAtLeast: true },
    ]);
    await db.sql("delete from posthaste.ready_tasks where queue = $1", [queue]);
    await db.sql("delete from posthaste.submissions where queue = $1", [queue]);
  });

  test("says that the deadline has passed", async () => {
    const queue = newQueue();
    await addWorker({ queue });
    const id = await addOneReady(db, { queue, goodMs: -1_000 });

    expect(await gatesOf(db.app(), id)).toMatchObject([
      { code: "EXPIRED", goodUntil: expect.any(Date) },
    ]);
  });

  test("lists all gates that hold, in the order of a claim", async () => {
    const queue = newQueue();
    const app = db.app();
    const workerId = await addWorker({ queue, queueCap: 1, concurrency: 1 });
    await capped(queue, workerId, 1);
    await addReady(db, [{ queue, priority: 1 }]);
    const id = await addOneReady(db, { queue, dueMs: 60_000, goodMs: -1 });
    await app.admin.queues.pause(queue, { force: true });

    expect(codesOf(await gatesOf(app, id))).toEqual([
      "QUEUE_PAUSED",
      "NOT_DUE",
      "QUEUE_CAP_FULL",
      "NO_FREE_SLOT",
      "NOT_FIRST",
      "EXPIRED",
    ]);
  });

  test("says where a task is that does not wait", async () => {
    const queue = newQueue();
    const workerId = await addWorker({ queue, name: "w9" });
    const [running, claimed] = await addActive(db, [
      { queue, workerId, isCancelRequested: true },
      { queue, workerId, status: "CLAIMED" },
    ]);
    const ended = await addOneReady(db);
    await db.sql("select posthaste.cancel($1)", [ended]);
    const app = db.app();

    expect(await gatesOf(app, running?.id ?? "")).toMatchObject([
      { code: "RUNNING", worker: "w9", cancelRequestedAt: expect.any(Date) },
    ]);
    expect(await gatesOf(app, claimed?.id ?? "")).toMatchObject([
      { code: "CLAIMED", worker: "w9" },
    ]);
    expect(await gatesOf(app, ended)).toMatchObject([{ code: "ENDED", status: "CANCELLED" }]);
    await expect(app.admin.tasks.explain(randomUUID())).rejects.toMatchObject({
      code: "TASK_NOT_FOUND",
    });
  });

  test("reads the caps that a real worker has registered", async () => {
    const queue = newQueue();
    const task = defineTask({ name: "capped", queue, run: (input: null) => input });
    const app = db.app({ tasks: [task], queues: { [queue]: { maxConcurrency: 1 } } });
    const worker = app.worker({ queues: [queue], name: "real" });
    await worker.start();
    await app.admin.queues.pause(queue);
    const { id } = await app.send(task, null, { queue });
    const [row] = await db.sql<{ id: string }>(
      "select worker_id as id from posthaste.workers where name = 'real'",
    );
    await capped(queue, row?.id ?? "", 1);

    expect(codesOf(await gatesOf(app, id))).toEqual(["QUEUE_PAUSED", "QUEUE_CAP_FULL"]);
    await db.sql(
      "select posthaste.fail(task_id, 'OVER') from posthaste.active_tasks where capped_queue = $1",
      [queue],
    );
  });

  test("explains a node: what blocks it, and that its run is paused", async () => {
    const queue = newQueue();
    const task = defineTask({
      name: "node",
      errors: ["NO"],
      run: (input: number) => (input < 0 ? fail("NO") : input),
    });
    const flow = defineWorkflow({
      name: `flow-${queue}`,
      build(builder) {
        const first = builder.node("first", task, 1, { queue });
        return builder.node("second", task, first.output, { queue }).output;
      },
    });
    const app = db.app({ tasks: [task], workflows: [flow] });
    const run = await app.start(flow);
    const explain = (node: string) => app.admin.tasks.explain(run.id, { node });

    expect(codesOf((await explain("first")).gates)).toEqual(["NO_WORKER_FOR_QUEUE"]);
    expect(await explain("second")).toMatchObject({
      taskId: null,
      gates: [
        { code: "BLOCKED_BY_NODE", runId: run.id, nodes: [{ id: "first", status: "ENQUEUED" }] },
      ],
    });
    await run.pause();
    expect(codesOf((await explain("first")).gates)).toEqual(["RUN_PAUSED"]);
    expect(codesOf((await explain("second")).gates)).toEqual(["RUN_PAUSED", "BLOCKED_BY_NODE"]);
    await expect(explain("third")).rejects.toThrow('has no node "third"');
  });
});
