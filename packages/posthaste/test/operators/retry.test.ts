/** Operators retry tasks that have ended: one by one, and many by a filter. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { defineTask, defineWorkflow, fail, type Posthaste } from "../../src/index.ts";
import { addActive, addReady, newQueue } from "../store/task-rows.ts";
import { useDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();

const broken = { code: "BROKEN", error: '{"code":"BROKEN","message":"it broke"}' };

/** Fails its first attempt, and succeeds with the number of the attempt. */
const secondTime = defineTask({
  name: "second-time",
  errors: ["NOT_YET"],
  run: (_: null, ctx) => (ctx.attempt === 1 ? fail("NOT_YET") : ctx.attempt),
});

async function addFailed(count: number, seed: { name?: string; queue?: string } = {}) {
  const claims = await addActive(
    db,
    Array.from({ length: count }, () => seed),
  );
  await db.store.settleTasks(
    await db.connect(),
    claims.map((claim) => ({ ...claim, edge: "fail", ran: true, ...broken })),
  );
  return claims.map(({ id }) => id).toSorted();
}

async function statusesOf(ids: readonly string[]): Promise<Record<string, number>> {
  const rows = await db.sql<{ status: string; count: number }>(
    "select status, count(*)::int as count from posthaste.tasks where id = any ($1) group by status",
    [ids],
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

async function actionsOf(app: Posthaste, action: string) {
  return (await app.admin.actions.list()).filter((each) => each.action === action);
}

describe("admin.tasks.retry of one task", () => {
  test("runs it again under its id; who had its result keeps it, who waits from now on gets the new end", async () => {
    const queue = newQueue();
    const app = db.app({ tasks: [secondTime] });
    const handle = await app.send(secondTime, null, { queue, key: queue });
    const worker = app.worker({ queues: [queue] });
    await worker.start();
    expect(await handle.result()).toMatchObject({ ok: false, error: { code: "NOT_YET" } });

    expect(await app.admin.as("ann").tasks.retry(handle.id)).toBe("retried");

    expect(await handle.value()).toBe(2);
    const info = await handle.info();
    expect(info).toMatchObject({
      status: "COMPLETED",
      retryCount: 0,
      copyOf: null,
      retries: [{ retriedBy: "ann", status: "FAILED", errorCode: "NOT_YET", attempt: 1 }],
    });
    expect(info.attempts).toMatchObject([
      { attempt: 1, outcome: "FAILED", willRetry: false, errorCode: "NOT_YET" },
      { attempt: 2, outcome: "COMPLETED" },
    ]);
    // The key follows the task.
    expect((await app.send(secondTime, null, { queue, key: queue })).id).toBe(handle.id);
    expect(await actionsOf(app, "retry task")).toMatchObject([
      { actedBy: "ann", target: handle.id, affected: 1, endedAt: expect.any(Date) },
    ]);
  });

  test("answers unfinished for a task that waits, and names what is wrong otherwise", async () => {
    const app = db.app({ tasks: [secondTime] });
    const [waiting] = await addReady(db, [{}]);
    const [claim] = await addActive(db, [{}]);
    if (waiting === undefined || claim === undefined) throw new Error("two were asked for");
    await db.store.settleTasks(await db.connect(), [{ ...claim, edge: "succeed", ran: true }]);

    expect(await app.admin.tasks.retry(waiting)).toBe("unfinished");
    await expect(app.admin.tasks.retry(claim.id)).rejects.toThrow(
      /COMPLETED and never runs again; sendAgain/,
    );
    await expect(app.admin.tasks.retry(randomUUID())).rejects.toMatchObject({
      code: "TASK_NOT_FOUND",
    });
    await expect(app.admin.tasks.retry("no id")).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
    // A refused attempt is in the record, too.
    expect((await app.admin.actions.list({ target: claim.id }))[0]).toMatchObject({ affected: 0 });
  });

  test("refuses a node of a run with a hint at retryFrom", async () => {
    const queue = newQueue();
    const never = defineTask({
      name: "never",
      errors: ["NO"],
      run: (input: null) => fail("NO", String(input)),
    });
    const flow = defineWorkflow({
      name: `flow-${queue}`,
      build: (builder) => builder.node("one", never, null, { queue }).output,
    });
    const app = db.app({ tasks: [never], workflows: [flow] });
    const run = await app.start(flow);
    const worker = app.worker({ queues: [queue] });
    await worker.start();
    await run.result();
    const [node] = await run.nodes();

    await expect(app.admin.tasks.retry(node?.taskId ?? "")).rejects.toThrow(
      new RegExp(`is node "one" of run ${run.id}; start it over with admin.workflows.retryFrom`),
    );
    await expect(db.sql("select posthaste.retry($1)", [node?.taskId])).rejects.toMatchObject({
      hint: expect.stringContaining("retry_workflow"),
    });
    expect(await app.admin.tasks.retry({ name: "never" })).toMatchObject({ matched: 0 });
  });

  test("needs a new deadline for an expired task", async () => {
    const app = db.app({ tasks: [secondTime] });
    const [id = ""] = await addReady(db, [{ goodMs: -1 }]);
    await db.store.expireTasks(await db.connect(), 10);

    await expect(app.admin.tasks.retry(id)).rejects.toThrow(
      "goodUntil: expected a time in the future",
    );
    const goodUntil = new Date(Date.now() + 60_000);
    expect(await app.admin.tasks.retry(id, { goodUntil })).toBe("retried");
    expect(await app.admin.tasks.get(id)).toMatchObject({ status: "PENDING", goodUntil });
  });
});

describe("admin.tasks.retry of several tasks", () => {
  test("retries what matches, in the order of ids, and counts", async () => {
    const name = newQueue();
    const app = db.app({ tasks: [secondTime] });
    const ids = await addFailed(30, { name });
    const others = await addFailed(2);

    expect(await app.admin.tasks.retry({ name }, { dryRun: true })).toMatchObject({
      matched: 30,
      changed: 0,
      actionId: null,
    });
    expect(await statusesOf(ids)).toEqual({ FAILED: 30 });
    expect(
      await app.admin.tasks.retry({ name, errorCode: "BROKEN", status: "FAILED" }),
    ).toMatchObject({ matched: 30, changed: 30, skipped: 0 });

    expect(await statusesOf(ids)).toEqual({ PENDING: 30 });
    expect(await statusesOf(others)).toEqual({ FAILED: 2 });
    const retried = await db.sql<{ id: string }>(
      "select task_id as id from posthaste.task_retries where task_id = any ($1) order by id",
      [ids],
    );
    expect(retried.map(({ id }) => id)).toEqual(ids);
    expect((await actionsOf(app, "retry tasks"))[0]).toMatchObject({
      affected: 30,
      filter: { name, errorCode: "BROKEN" },
    });
  });

  test("never matches COMPLETED, and finds ends of an older library, which stored no name", async () => {
    const name = newQueue();
    const app = db.app({ tasks: [secondTime] });
    const ids = await addFailed(2, { name });
    const [done] = await addActive(db, [{ name }]);
    if (done === undefined) throw new Error("one was asked for");
    await db.store.settleTasks(await db.connect(), [{ ...done, edge: "succeed", ran: true }]);
    await db.sql(
      "update posthaste.finished_tasks set name = null, queue = null where task_id = any ($1)",
      [ids],
    );

    expect(await app.admin.tasks.retry({ name })).toMatchObject({ matched: 2, changed: 2 });
    expect(await statusesOf([done.id])).toEqual({ COMPLETED: 1 });
  });

  test("works on what had ended when it began; the same call with its until goes on after an interruption", async () => {
    const name = newQueue();
    const app = db.app({ tasks: [secondTime] });
    const ids = await addFailed(10, { name });
    const stop = new AbortController();

    const first = await app.admin.tasks.retry(
      { name },
      { maxPerSecond: 20, signal: stop.signal, onProgress: () => stop.abort() },
    );
    expect(first).toMatchObject({ matched: 10, changed: 2, skipped: 0 });
    // A retried task fails again: it belongs to no set that was chosen before.
    await db.sql("select posthaste.fail($1, 'AGAIN')", [ids[0]]);

    const rest = await app.admin.tasks.retry({ name, until: first.until });
    expect(rest).toMatchObject({ matched: 8, changed: 8 });
    expect(await statusesOf(ids)).toEqual({ PENDING: 9, FAILED: 1 });
  });

  test("makes one series of each task when two operators retry at once", async () => {
    const name = newQueue();
    const ids = await addFailed(300, { name });
    const apps = [db.app({ tasks: [secondTime] }), db.app({ tasks: [secondTime] })];

    const counts = await Promise.all(apps.map((app) => app.admin.tasks.retry({ name })));

    expect(counts.reduce((sum, { changed }) => sum + changed, 0)).toBe(300);
    expect(await statusesOf(ids)).toEqual({ PENDING: 300 });
    const [row] = await db.sql(
      "select count(*)::int as retries, count(distinct task_id)::int as tasks from posthaste.task_retries where task_id = any ($1)",
      [ids],
    );
    expect(row).toEqual({ retries: 300, tasks: 300 });
  });

  test("keeps to maxPerSecond within 5 %", async () => {
    const name = newQueue();
    await addFailed(300, { name });
    const app = db.app({ tasks: [secondTime] });
    const { changed, actionId } = await app.admin.tasks.retry({ name }, { maxPerSecond: 100 });

    expect(changed).toBe(300);
    const [row] = await db.sql<{ rate: number }>(
      `select 290 / extract(epoch from max(retried_at) - min(retried_at))::float8 as rate
         from posthaste.task_retries r, posthaste.operator_actions a where a.id = $1 and retried_at >= a.begun_at`,
      [actionId],
    );
    // The first and the last batch of 10 are 29 pauses apart. A busy machine may be slower, never faster.
    expect(row?.rate).toBeLessThan(105);
  });

  test("refuses filters and options that make no sense", async () => {
    const { admin } = db.app({ tasks: [secondTime] });
    const wrong: readonly (() => Promise<unknown>)[] = [
      () => admin.tasks.retry({ status: "COMPLETED" } as never),
      () => admin.tasks.retry({ key: "k" }),
      () => admin.tasks.retry({ nme: "x" } as never),
      () => admin.tasks.retry({}, { maxPerSecond: 0 }),
      () => admin.tasks.retry({ since: new Date(2), until: new Date(1) }),
    ];
    for (const call of wrong)
      await expect(call()).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  });
});

describe("a waiter of a retried task", () => {
  test("that registered before the retry gets the new end", async () => {
    const queue = newQueue();
    const app = db.app({ tasks: [secondTime], resilience: { notifyPollIntervalMs: 60_000 } });
    const { id } = await app.send(secondTime, null, { queue });
    await db.sql("select posthaste.cancel($1)", [id]);
    expect(await app.task(secondTime, id).result()).toMatchObject({ ok: false });
    await app.admin.tasks.retry(id);

    const waiting = app.task(secondTime, id).result();
    await waitUntil("the registration", async () => {
      const rows = await db.sql("select from posthaste.waiters where task_id = $1", [id]);
      return rows.length > 0;
    });
    // Attempt 1 again, because none had begun: it fails as at first.
    const worker = app.worker({ queues: [queue] });
    await worker.start();
    expect(await waiting).toMatchObject({ ok: false, error: { code: "NOT_YET" } });
  });
});
