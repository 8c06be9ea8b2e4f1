/** Operators cancel, copy, move and delete tasks; every action is in the record. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTask, defineWorkflow } from "../../src/index.ts";
import {
  addActive,
  addOneActive,
  addOneReady,
  addReady,
  newQueue,
  placesOf,
} from "../store/task-rows.ts";
import { useDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();

const greet = defineTask({
  name: "greet",
  input: z.object({ to: z.string() }),
  run: ({ to }) => `hello ${to}`,
});

describe("admin.tasks.cancel of several tasks", () => {
  test("cancels what waits, requests it of what runs, and leaves ends alone", async () => {
    const name = newQueue();
    const cancelled: string[] = [];
    const app = db.app({ hooks: { taskCancelled: ({ id }) => void cancelled.push(id) } });
    const waiting = await addReady(db, [{ name }, { name, runs: 1 }]);
    const [running, claimed] = await addActive(db, [{ name }, { name, status: "CLAIMED" }]);
    const ended = await addOneReady(db, { name });
    await db.sql("select posthaste.fail($1, 'OVER')", [ended]);

    expect(await app.admin.tasks.cancel({ name }, { dryRun: true })).toMatchObject({ matched: 4 });
    expect(await app.admin.tasks.cancel({ name }, { maxPerSecond: 100 })).toMatchObject({
      matched: 4,
      changed: 4,
      skipped: 0,
    });

    for (const id of [...waiting, claimed?.id ?? ""])
      expect(await placesOf(db, id)).toMatchObject({ finished: { status: "CANCELLED" } });
    expect(await placesOf(db, running?.id ?? "")).toMatchObject({
      active: { cancel_requested_at: expect.any(String) },
    });
    await waitUntil("the hooks", () => cancelled.length === 3);
  });

  test("cancels nodes with their runs", async () => {
    const queue = newQueue();
    const flow = defineWorkflow({
      name: `flow-${queue}`,
      build: (builder) => builder.node("one", greet, { to: "you" }, { queue }).output,
    });
    const app = db.app({ tasks: [greet], workflows: [flow] });
    const runs = await Promise.all([app.start(flow), app.start(flow)]);

    expect(await app.admin.tasks.cancel({ queue })).toMatchObject({ matched: 2, changed: 2 });
    for (const run of runs) expect(await run.status()).toBe("FAILED");
  });
});

describe("admin.tasks.sendAgain", () => {
  test("sends a copy with the stored input, and with another one", async () => {
    const queue = newQueue();
    const app = db.app({ tasks: [greet] });
    const original = await app.send(greet, { to: "ann" }, { queue, key: queue, priority: 7 });

    const copy = await app.admin.tasks.sendAgain(original.id);
    const other = await app.admin.tasks.sendAgain(original.id, {
      input: { to: "bob" },
      priority: 1,
    });
    const worker = app.worker({ queues: [queue] });
    await worker.start();

    expect(await app.task(greet, copy).value()).toBe("hello ann");
    expect(await app.task(greet, other).value()).toBe("hello bob");
    expect(await app.admin.tasks.get(copy)).toMatchObject({
      copyOf: original.id,
      queue,
      priority: 7,
    });
    expect(await app.admin.tasks.get(other)).toMatchObject({ copyOf: original.id, priority: 1 });
    const keys = await db.sql("select key from posthaste.submissions where task_id = any ($1)", [
      [copy, other],
    ]);
    expect(keys).toEqual([{ key: null }, { key: null }]);
  });

  test("takes a delay and a deadline, and no deadline of the original", async () => {
    const app = db.app();
    const id = await addOneReady(db, { goodMs: 5_000 });
    const goodUntil = new Date(Date.now() + 3_600_000);

    const plain = await app.admin.tasks.sendAgain(id);
    const later = await app.admin.tasks.sendAgain(id, { delayMs: 60_000, goodUntil });

    expect(await app.admin.tasks.get(plain)).toMatchObject({ goodUntil: null });
    const info = await app.admin.tasks.get(later);
    expect(info.goodUntil).toEqual(goodUntil);
    expect(info.enqueuedAt.getTime() - info.sentAt.getTime()).toBe(60_000);
  });

  test("refuses an input that the schema refuses, and a task that is not there", async () => {
    const app = db.app({ tasks: [greet] });
    const { id } = await app.send(greet, { to: "x" }, { queue: newQueue() });

    await expect(app.admin.tasks.sendAgain(id, { input: { to: 5 } })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      message: expect.stringContaining("input.to"),
    });
    await expect(app.admin.tasks.sendAgain(id, { input: 1n })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
    await expect(app.admin.tasks.sendAgain(randomUUID())).rejects.toMatchObject({
      code: "TASK_NOT_FOUND",
    });
  });
});

describe("admin.tasks.runNow", () => {
  test("makes a delayed task due, and a worker runs it at once", async () => {
    const queue = newQueue();
    const app = db.app({ tasks: [greet], resilience: { notifyPollIntervalMs: 60_000 } });
    const worker = app.worker({ queues: [queue] });
    await worker.start();
    const handle = await app.send(greet, { to: "you" }, { queue, delayMs: 3_600_000 });

    expect(await app.admin.tasks.runNow(handle.id)).toBe("moved");
    expect(await handle.value()).toBe("hello you");
    expect(await app.admin.tasks.runNow(handle.id)).toBe("finished");
  });

  test("makes a retry due, and keeps its counts", async () => {
    const app = db.app();
    const id = await addOneReady(db, { dueMs: 60_000, runs: 2, retryCount: 2, crashCount: 1 });

    expect(await app.admin.tasks.runNow(id)).toBe("moved");
    expect(await placesOf(db, id)).toMatchObject({
      ready: { attempt_no: 2, retry_count: 2, crash_count: 1 },
    });
    expect(await app.admin.tasks.runNow(id)).toBe("unchanged");
  });

  test("leaves a running task alone", async () => {
    const app = db.app();
    const { id } = await addOneActive(db);

    expect(await app.admin.tasks.runNow(id)).toBe("active");
    await expect(app.admin.tasks.runNow(randomUUID())).rejects.toMatchObject({
      code: "TASK_NOT_FOUND",
    });
  });
});

describe("admin.tasks.setPriority", () => {
  test("moves a waiting task in its line, and the task is found there", async () => {
    const queue = newQueue();
    const app = db.app({ tasks: [greet] });
    const [, last = ""] = await addReady(db, [
      { queue, name: "greet", input: { to: "first" } },
      { queue, name: "greet", input: { to: "last" } },
    ]);

    expect(await app.admin.tasks.setPriority(last, 1)).toBe("moved");
    expect(await app.admin.tasks.setPriority(last, 1)).toBe("unchanged");
    expect(await app.admin.tasks.get(last)).toMatchObject({ priority: 1, status: "PENDING" });
    const page = await app.admin.tasks.list({ status: "PENDING", queue });
    expect(page.tasks[0]).toMatchObject({ id: last, priority: 1 });
    await expect(app.admin.tasks.setPriority(last, 0)).rejects.toThrow("priority");

    const worker = app.worker({ queues: [queue] });
    await worker.start();
    expect(await app.task(greet, last).value()).toBe("hello last");
  });
});

describe("admin.tasks.delete", () => {
  test("deletes everything that is stored of an ended task", async () => {
    const key = newQueue();
    const app = db.app();
    const [{ id, claimId } = { id: "", claimId: "" }] = await addActive(db, [{ key, runs: 1 }]);
    await db.sql("insert into posthaste.progress values ($1, 1, now(), '{}')", [id]);
    await db.sql(
      `insert into posthaste.heartbeats (task_id, claim_id, sender_id, sent_at, pid, role, hostname)
       values ($1, $2, $2, now(), 1, 'runner', 'h')`,
      [id, claimId],
    );
    expect(await app.admin.tasks.delete(id)).toBe("active");
    await db.sql("select posthaste.fail($1, 'OVER')", [id]);
    await app.admin.tasks.retry(id);
    await db.sql("select posthaste.fail($1, 'AGAIN')", [id]);

    expect(await app.admin.tasks.delete(id)).toBe("deleted");

    const tables = await db.sql<{ name: string }>(
      `select table_name as name from information_schema.columns
        where table_schema = 'posthaste' and column_name = 'task_id' and table_name not in ('tasks')`,
    );
    expect(tables.length).toBeGreaterThan(8);
    for (const { name } of tables)
      expect(await db.sql(`select from posthaste.${name} where task_id = $1`, [id])).toEqual([]);
    await expect(app.admin.tasks.delete(id)).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
    expect(await addOneReady(db, { key })).toMatch(/-/);
  });

  test("deletes a waiting task", async () => {
    const app = db.app();
    const [fresh = "", back = ""] = await addReady(db, [{}, { runs: 1 }]);
    expect(await app.admin.tasks.delete(fresh)).toBe("deleted");
    expect(await app.admin.tasks.delete(back)).toBe("deleted");
    expect(
      await db.sql("select from posthaste.submissions where task_id = any ($1)", [[fresh, back]]),
    ).toEqual([]);
  });

  test("refuses a node of a run", async () => {
    const queue = newQueue();
    const flow = defineWorkflow({
      name: `flow-${queue}`,
      build: (builder) => builder.node("one", greet, { to: "you" }, { queue }).output,
    });
    const app = db.app({ tasks: [greet], workflows: [flow] });
    const run = await app.start(flow);
    const [node] = await run.nodes();

    await expect(app.admin.tasks.delete(node?.taskId ?? "")).rejects.toThrow(
      `node "one" of run ${run.id}`,
    );
  });
});

describe("the record of actions", () => {
  test("has every action of an operator: who, on what, how many", async () => {
    const queue = newQueue();
    const flow = defineWorkflow({
      name: `flow-${queue}`,
      build: (builder) => builder.node("one", greet, { to: "you" }, { queue }).output,
    });
    const app = db.app({ tasks: [greet], workflows: [flow] });
    const admin = app.admin.as("ann");
    const run = await app.start(flow);
    const [waiting = "", other = ""] = await addReady(db, [{ queue }, { queue }]);

    await admin.queues.pause(queue);
    await admin.queues.pause(queue);
    await admin.queues.resume(queue);
    await admin.workflows.pause(run.id);
    await admin.workflows.resume(run.id);
    await admin.workflows.cancel(run.id);
    await admin.tasks.cancel(waiting);
    await admin.tasks.retry(waiting);
    await admin.tasks.setPriority(waiting, 5);
    await admin.tasks.runNow(waiting);
    await admin.tasks.sendAgain(waiting, { input: { secret: 1 } });
    await admin.tasks.delete(other);
    await admin.tasks.cancel({ queue });
    await admin.tasks.retry({ queue });
    await admin.sweepStaleWorkers({ dryRun: true });
    await admin.sweepStaleWorkers();
    await admin.requeueStaleClaimed();
    await admin.recoverStaleRunning();
    await admin.recoverStuckWorkflows();
    await admin.prune({ dryRun: true });
    await admin.prune();

    const actions = (await app.admin.actions.list())
      .filter(({ actedBy }) => actedBy === "ann")
      .toReversed();
    expect(actions.map(({ action, target, affected }) => [action, target, affected])).toEqual([
      ["pause queue", queue, 1],
      ["pause queue", queue, 0],
      ["resume queue", queue, 1],
      ["pause workflow", run.id, 1],
      ["resume workflow", run.id, 1],
      ["cancel workflow", run.id, 1],
      ["cancel task", waiting, 1],
      ["retry task", waiting, 1],
      ["set priority", waiting, 1],
      ["run now", waiting, 0],
      ["send again", waiting, 1],
      ["delete task", other, 1],
      ["cancel tasks", null, 2],
      ["retry tasks", null, 2],
      ["sweep", null, 0],
      ["requeue stale claimed", null, 0],
      ["recover stale running", null, 0],
      ["recover stuck workflows", null, 0],
      ["prune", null, 0],
    ]);
    const [user] = await db.sql<{ name: string }>("select session_user as name");
    for (const { actor, endedAt } of actions) {
      expect(actor).toBe(user?.name);
      expect(endedAt).toBeInstanceOf(Date);
    }
    // An input is personal data; the record outlives the task.
    expect(JSON.stringify(actions)).not.toContain("secret");
    expect((await app.admin.actions.list({ target: queue, limit: 1 }))[0]).toMatchObject({
      action: "resume queue",
    });
  });

  test("counts an end once when it is repeated, because its confirmation was lost", async () => {
    const [action] = await db.sql<{ id: string }>("select id from posthaste.begin_action('test')");
    const count = (more: number, isOver: boolean): Promise<unknown> =>
      db.sql("select posthaste.count_action($1, $2, $3) as affected", [action?.id, more, isOver]);
    expect(await count(1, false)).toEqual([{ affected: 1 }]);
    expect(await count(2, true)).toEqual([{ affected: 3 }]);
    const [first] = await db.app().admin.actions.list({ limit: 1 });
    expect(await count(2, true)).toEqual([{ affected: 3 }]);
    expect(await db.app().admin.actions.list({ limit: 1 })).toEqual([first]);
    await expect(count(1, false)).rejects.toThrow("is not under way");
  });

  test("keeps an action that fails", async () => {
    const app = db.app();
    const id = randomUUID();
    await expect(app.admin.tasks.cancel(id)).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });

    expect(await app.admin.actions.list({ target: id })).toMatchObject([
      { action: "cancel task", affected: 0, actedBy: null, endedAt: expect.any(Date) },
    ]);
  });
});
