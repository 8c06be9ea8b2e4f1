/** Schedules on living workers and schedulers, by the database's clock. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineSchedule, defineTask, type Hooks } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { gate as makeGate } from "../support/gate.ts";
import { recordingLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();
useCleanTables(db);

const eachSecond = { every: { seconds: 1 } } as const;

function countingTask(name = "tick") {
  const runs: unknown[] = [];
  const task = defineTask({
    name,
    input: z.unknown(),
    run: (input: unknown) => {
      runs.push(input);
    },
  });
  return { task, runs };
}

describe("a worker", () => {
  test("stores the schedules of its app and fires them, each slot once", async () => {
    const { task, runs } = countingTask();
    const schedule = defineSchedule({ name: "tick", task, input: { a: 1 }, ...eachSecond });
    const app = db.app({ tasks: [task], schedules: [schedule] });
    await Promise.all([
      app.worker({ concurrency: 1 }).start(),
      app.worker({ concurrency: 1 }).start(),
    ]);
    await waitUntil("three runs", () => runs.length >= 3);
    expect(runs[0]).toEqual({ a: 1 });
    await app.close();
    const rows = await db.sql<{ slots: number; sent: number }>(
      `select count(distinct slot)::int as slots, count(task_id)::int as sent from posthaste.schedule_firings
        where skipped is null`,
    );
    const [sent] = await db.sql<{ sent: number }>(
      "select count(*)::int as sent from posthaste.submissions",
    );
    expect(rows).toEqual([{ slots: sent?.sent, sent: sent?.sent }]);
  });

  test("with `scheduler: false` neither stores nor fires", async () => {
    const { task, runs } = countingTask();
    const schedule = defineSchedule({ name: "tick", task, ...eachSecond });
    const app = db.app({ tasks: [task], schedules: [schedule] });
    await app.worker({ scheduler: false, concurrency: 1 }).start();
    expect(await db.sql("select from posthaste.schedules")).toEqual([]);
    // A scheduler alone does both, and the worker runs the tasks.
    const scheduler = await app.scheduler({ name: "clock" }).start();
    await waitUntil("a run", () => runs.length > 0);
    const workers = await app.admin.workers.list();
    expect(workers.find(({ id }) => id === scheduler.id)).toMatchObject({
      name: "clock",
      queues: [],
      concurrency: 0,
      metadata: { role: "scheduler" },
    });
    await scheduler.stop();
    expect((await app.admin.workers.list()).find(({ id }) => id === scheduler.id)?.state).toBe(
      "stopped",
    );
  });

  test("does not start with a schedule whose name was taken at run time", async () => {
    const { task } = countingTask();
    const schedule = defineSchedule({ name: "tick", task, ...eachSecond });
    const app = db.app({ tasks: [task], schedules: [schedule] });
    await app.admin.schedules.upsert(schedule);
    await expect(app.worker().start()).rejects.toThrow(
      /"tick" belongs to a schedule that was made at run time/,
    );
  });

  test("does not start with a schedule whose input the task refuses", async () => {
    const strict = defineTask({ name: "strict", input: z.object({ n: z.number() }), run: () => 1 });
    const schedule = defineSchedule({
      name: "bad",
      task: strict,
      input: { n: "1" as unknown as number },
      ...eachSecond,
    });
    const app = db.app({ tasks: [strict], schedules: [schedule] });
    await expect(app.worker().start()).rejects.toThrow(/schedule "bad" was not stored: input\.n/);
    expect(await app.check()).toMatchObject([{ path: "schedules.bad.input.n" }]);
  });

  test("fires what a dead leader has left, and says that it was late", async () => {
    const { task } = countingTask();
    const late: unknown[] = [];
    const hooks: Hooks = { scheduleLate: (event) => void late.push(event) };
    const app = db.app({ tasks: [task], hooks });
    const hourly = defineSchedule({ name: "old", task, every: { hours: 1 }, missed: "latest" });
    await app.admin.schedules.upsert(hourly);
    await db.sql(
      "update posthaste.schedules set next_slot = now() - interval '2 hours', due_at = now() - interval '2 hours'",
    );
    await app.worker({ concurrency: 1 }).start();
    await waitUntil("the late event", () => late.length > 0);
    expect(late).toMatchObject([
      { name: "old", slot: expect.any(Date), lateMs: expect.any(Number) },
    ]);
  });

  test("overlap: cancel requests the cancellation and fires when that has ended", async () => {
    const gate = makeGate();
    const aborted: string[] = [];
    const task = defineTask({
      name: "slow",
      run: async (_input: undefined, ctx) => {
        ctx.signal.addEventListener("abort", () => aborted.push(ctx.taskId));
        await Promise.race([
          gate.opened,
          new Promise((resolve) => ctx.signal.addEventListener("abort", resolve)),
        ]);
      },
    });
    const schedule = defineSchedule({ name: "slow", task, ...eachSecond, overlap: "cancel" });
    const app = db.app({ tasks: [task], schedules: [schedule] });
    await app.worker({ concurrency: 2 }).start();
    await waitUntil("two cancelled attempts", () => aborted.length >= 2);
    gate.open();
    await app.admin.schedules.pause("slow");
    const [overlapping] = await db.sql<{ most: number }>(
      `select count(*)::int as most from posthaste.finished_tasks a join posthaste.finished_tasks b
           on a.task_id < b.task_id and a.started_at < b.finished_at and b.started_at < a.finished_at`,
    );
    expect(overlapping?.most).toBe(0);
  });

  test("reports a schedule that it does not understand once, and an orphaned one", async () => {
    const { task, runs } = countingTask();
    const logger = recordingLogger();
    const app = db.app({ tasks: [task], logger });
    for (const name of ["strange", "plain"])
      await app.admin.schedules.upsert(defineSchedule({ name, task, ...eachSecond }));
    await app.admin.schedules.upsert(defineSchedule({ name: "orphan", task, every: { days: 1 } }));
    await db.sql(
      `update posthaste.schedules set pattern = '{"kind": "lunar"}' where name = 'strange'`,
    );
    await db.sql(
      "update posthaste.schedules set owner = 'code', listed_at = now() - interval '11 minutes' where name = 'orphan'",
    );
    await app.worker({ concurrency: 1 }).start();
    await waitUntil("two runs", () => runs.length >= 2);
    const warned = logger.lines
      .filter(({ level }) => level === "warn")
      .map(({ fields, message }) => [fields["schedule"], message]);
    expect(warned).toContainEqual(["strange", expect.stringMatching(/does not know/)]);
    expect(warned).toContainEqual(["orphan", expect.stringMatching(/orphaned/)]);
    expect(warned.filter(([schedule]) => schedule === "strange")).toHaveLength(1);
    expect((await app.admin.schedules.list()).find(({ name }) => name === "orphan")?.orphaned).toBe(
      true,
    );
  });

  test("is woken by a schedule that another process stores", async () => {
    const { task, runs } = countingTask();
    const app = db.app({ tasks: [task] });
    await app.worker({ concurrency: 1 }).start();
    // Its next look by itself is half a minute away.
    const other = db.app({ tasks: [task] });
    await other.admin.schedules.upsert(defineSchedule({ name: "tick", task, ...eachSecond }));
    await waitUntil("a run", () => runs.length > 0, 20_000);
  });
});
