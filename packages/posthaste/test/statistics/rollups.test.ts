/** Workers count their ends, the maintenance pass merges the counts, and `admin.stats()` reads them. */
import { describe, expect, test } from "vitest";
import { defineTask, fail, fixed, type Stats } from "../../src/index.ts";
import { gate } from "../support/gate.ts";
import { addActive } from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

const counts = ["completed", "failed", "cancelled", "expired", "retried"] as const;

function ends(stats: Stats, name: string): Record<string, number> | undefined {
  const found = stats.tasks.find((task) => task.name === name);
  return (
    found &&
    Object.fromEntries(counts.flatMap((kind) => (found[kind] > 0 ? [[kind, found[kind]]] : [])))
  );
}

describe("rollups of a worker", () => {
  const works = defineTask({ name: "works", run: () => null });
  const fails = defineTask({ name: "fails", errors: ["NO"], run: () => fail("NO", "no") });
  const retries = defineTask({
    name: "retries",
    retry: fixed({ intervalsMs: [1, 1], retryFor: "any" }),
    run: (_: null, ctx) => {
      if (ctx.attempt < 3) throw new Error("again");
      return null;
    },
  });
  const commits = defineTask({
    name: "commits",
    run: async (_: null, ctx) => ctx.transaction(async () => null),
  });
  const waits = defineTask({ name: "waits", queue: "slow", run: (ms: number) => pauseOf(ms) });
  const pauseOf = (ms: number): Promise<null> =>
    new Promise((resolve) => setTimeout(() => resolve(null), ms));

  test("count every end once and are written when the worker stops", async () => {
    const app = db.app({ tasks: [works, fails, retries, commits, waits] });
    const worker = app.worker({ queues: ["default", "slow"] });
    await worker.start();
    const handles = [
      ...(await app.sendMany(
        works,
        Array.from({ length: 30 }, () => null),
      )),
      await app.send(fails, null),
      await app.send(fails, null),
      await app.send(retries, null),
      await app.send(commits, null),
      await app.send(waits, 30),
    ];
    for (const handle of handles) await handle.result();
    await worker.stop();
    const stats = await app.admin.stats();
    expect(ends(stats, "works")).toEqual({ completed: 30 });
    expect(ends(stats, "fails")).toEqual({ failed: 2 });
    expect(ends(stats, "retries")).toEqual({ completed: 1, retried: 2 });
    expect(ends(stats, "commits")).toEqual({ completed: 1 });
    const slow = stats.queues.find(({ name }) => name === "slow");
    expect(slow).toMatchObject({ completed: 1, ready: 0, running: 0, oldestReadyMs: null });
    expect(slow?.run.p50).toBeGreaterThan(20);
    expect(slow?.wait.p99).not.toBeNull();
  });

  test("count a task that its handler's end found cancelled, and one that a claim found expired", async () => {
    const open = gate();
    const held = defineTask({ name: "held", run: () => open.opened.then(() => null) });
    const app = db.app({ tasks: [held], directStart: false });
    await app.ensureSchema();
    const late = await app.send(held, null, { goodUntil: new Date(Date.now() + 200) });
    const { goodUntil } = await late.info();
    await expect.poll(() => Date.now()).toBeGreaterThan(goodUntil?.getTime() ?? Infinity);
    const worker = app.worker();
    await worker.start();
    const handle = await app.send(held, null);
    await expect.poll(async () => (await handle.info()).status).toBe("RUNNING");
    await handle.cancel();
    open.open();
    expect(await handle.result()).toMatchObject({ error: { code: "TASK_CANCELLED" } });
    await expect.poll(async () => (await late.info()).status).toBe("EXPIRED");
    await worker.stop();
    expect(ends(await app.admin.stats(), "held")).toEqual({ cancelled: 1, expired: 1 });
  });

  test("measure waits from the due time by the database's clock", async () => {
    const app = db.app({ tasks: [works], directStart: false });
    const worker = app.worker();
    await worker.start();
    await expect.poll(() => db.sql(`select from posthaste.worker_states`)).toHaveLength(1); // the clock is known
    await app.admin.queues.pause("default");
    const handle = await app.send(works, null);
    for (const change of [
      `update posthaste.submissions set sent_at = sent_at - interval '10 minutes'`,
      `update posthaste.ready_tasks set enqueued_at = enqueued_at - interval '10 minutes'`,
    ])
      await db.sql(change);
    await app.admin.queues.resume("default");
    await handle.result();
    await worker.stop();
    const [stats] = (await app.admin.stats()).tasks;
    expect(stats?.wait.p50).toBeGreaterThan(400_000);
    expect(stats?.wait.p50).toBeLessThan(900_000);
    expect(stats?.run.p50).toBeLessThan(60_000);
  });
});

describe("rollups of ends without an attempt", () => {
  const task = defineTask({ name: "t", run: () => null });

  test("count a cancellation, a verdict by SQL, and an expiry of maintenance in the statement that ends the task", async () => {
    const app = db.app({ tasks: [task] });
    await app.ensureSchema();
    await (await app.send(task, null)).cancel();
    const { id } = await app.send(task, null);
    await db.sql(`select posthaste.fail($1, 'GONE')`, [id]);
    await app.send(task, null, { goodUntil: new Date(Date.now() + 60_000) });
    await db.sql(
      `update posthaste.ready_tasks set good_until = now() where good_until is not null`,
    );
    const connection = await db.connect("reads");
    expect(await db.store.expireTasks(connection, 10)).toHaveLength(1);
    expect(ends(await app.admin.stats(), "t")).toEqual({ cancelled: 1, failed: 1, expired: 1 });
  });

  test("count a failure that a recovery writes", async () => {
    await addActive(db, [{ heldMs: 1e7 }]);
    const { recoveredCount } = await db.app().admin.recoverStaleRunning({ force: true });
    expect(recoveredCount).toBe(1);
    const [row] = await db.sql(`select sum(failed)::int as failed from posthaste.rollups`);
    expect(row).toEqual({ failed: 1 });
  });
});

describe("merge_rollups()", () => {
  const add = (
    covers: string,
    ago: string,
    values: { completed: number; run: string },
    name = "t",
  ) =>
    db.sql(
      `insert into posthaste.rollups (starts_at, covers, worker_id, name, queue, completed, run, wait)
       values (date_trunc('minute', now() - $2::interval), $1, gen_random_uuid(), $3, 'q', $4, $5, '{1}')`,
      [covers, ago, name, values.completed, values.run],
    );
  const rows = () =>
    db.sql(
      `select covers, name, completed, run, wait, worker_id from posthaste.rollups order by starts_at, name, completed`,
    );

  test("adds the parts of a past minute, whoever wrote them, and leaves the present one", async () => {
    await add("part", "5 minutes", { completed: 1, run: "{1,0,2}" });
    await add("part", "5 minutes", { completed: 10, run: "{5}" });
    await add("part", "5 minutes", { completed: 3, run: "{}" }, "other");
    await add("part", "0 minutes", { completed: 7, run: "{7}" });
    const connection = await db.connect("reads");
    expect(await db.store.writeRollups.merge(connection, 100)).toBe(3);
    expect(await rows()).toEqual([
      { covers: "minute", name: "other", completed: 3, run: [0], wait: [1], worker_id: null },
      {
        covers: "minute",
        name: "t",
        completed: 11,
        run: [6, 0, 2],
        wait: [2, 0, 0],
        worker_id: null,
      },
      {
        covers: "part",
        name: "t",
        completed: 7,
        run: [7],
        wait: [1],
        worker_id: expect.any(String),
      },
    ]);
    expect(await db.store.writeRollups.merge(connection, 100)).toBe(0);
  });

  test("turns minutes into hours and hours into days, and counts nothing twice when two sessions merge", async () => {
    for (let n = 0; n < 40; n++)
      await add(n % 2 ? "minute" : "part", "30 hours", { completed: 1, run: "{1}" });
    const [one, two] = [await db.connect("reads"), await db.connect("reads")];
    for (let round = 0; round < 6; round++)
      await Promise.all([db.store.writeRollups.merge(one, 7), db.store.writeRollups.merge(two, 7)]);
    const [sum] = await db.sql(
      `select sum(completed)::int as completed, sum(run[1])::int as run from posthaste.rollups`,
    );
    expect(sum).toEqual({ completed: 40, run: 40 });
    await db.store.writeRollups.merge(one, 1_000);
    await db.store.writeRollups.merge(one, 1_000);
    expect((await rows()).every(({ covers }) => covers === "hour")).toBe(true);
    await db.sql(`update posthaste.rollups set starts_at = starts_at - interval '9 days'`);
    await db.store.writeRollups.merge(one, 1_000);
    expect(await rows()).toMatchObject([{ covers: "day", completed: 40, run: [40] }]);
  });
});

describe("admin.stats()", () => {
  test("counts ready, delayed and held tasks of each queue", async () => {
    const task = defineTask({ name: "t", run: () => null });
    const app = db.app({ tasks: [task] });
    await app.sendMany(task, [null, null, null], { queue: "a" });
    await app.sendMany(task, [null, null], { queue: "a", priority: 3 });
    await app.sendMany(task, [null], { queue: "a", delayMs: 3_600_000 });
    await app.sendMany(task, [null], { queue: "b", delayMs: 3_600_000 });
    const { queues, spanMs } = await app.admin.stats();
    expect(spanMs).toBe(900_000);
    expect(queues).toMatchObject([
      { name: "a", ready: 5, delayed: 1, claimed: 0, running: 0, isCapped: false, perSecond: 0 },
      { name: "b", ready: 0, delayed: 1, oldestReadyMs: null, wait: { p50: null } },
    ]);
    expect(queues[0]?.oldestReadyMs).toBeGreaterThanOrEqual(0);
  });

  test("reads the asked span only, and refuses others", async () => {
    const app = db.app();
    await app.ensureSchema();
    await db.sql(
      `insert into posthaste.rollups (starts_at, covers, name, queue, failed)
       values (now() - interval '2 hours', 'minute', 't', 'q', 5), (now(), 'part', 't', 'q', 1)`,
    );
    expect((await app.admin.stats()).tasks).toMatchObject([{ failed: 1 }]);
    const hours = await app.admin.stats({ spanMs: 3 * 3_600_000 });
    expect(hours.tasks).toMatchObject([{ failed: 6, perSecond: 6 / 10_800 }]);
    await expect(app.admin.stats({ spanMs: 5 })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
  });
});
