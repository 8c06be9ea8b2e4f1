/** `app.admin.schedules`: what operators do with schedules. */
import { describe, expect, test } from "vitest";
import { defineSchedule, defineTask, defineWorkflow } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

const task = defineTask({ name: "report", run: () => "done" });
const workflow = defineWorkflow({
  name: "books",
  build: (flow) => ({ report: flow.node("report", task).output }),
});
const yearly = defineSchedule({ name: "yearly", task, every: { days: 365 }, overlap: "skip" });
const monthly = defineSchedule({ name: "books", workflow, monthly: { day: 31, at: "23:00" } });

describe("list and upsert", () => {
  test("show a schedule as it is stored", async () => {
    const { schedules } = db.app({ tasks: [task] }).admin;
    expect(await schedules.list()).toEqual([]);
    await schedules.upsert(yearly, monthly);
    expect(await schedules.list()).toMatchObject([
      {
        name: "books",
        owner: "database",
        task: null,
        workflow: "books",
        pattern: "monthly on day 31 at 23:00",
        timezone: "UTC",
      },
      {
        name: "yearly",
        owner: "database",
        task: "report",
        workflow: null,
        input: null,
        pattern: "every 365 days",
        missed: "skip",
        maxMissed: 100,
        overlap: "skip",
        jitterMs: 0,
        startAt: null,
        createdAt: expect.any(Date),
        nextSlot: expect.any(Date),
        pausedAt: null,
        failures: 0,
        lastTaskId: null,
        orphaned: false,
      },
    ]);
  });

  test("a changed schedule replaces the stored one, and keeps its history", async () => {
    const { schedules } = db.app({ tasks: [task] }).admin;
    await schedules.upsert(yearly);
    const { taskId } = await schedules.trigger("yearly");
    await schedules.upsert(defineSchedule({ name: "yearly", task, every: { days: 2 } }));
    expect(await schedules.list()).toMatchObject([
      { pattern: "every 2 days", overlap: "allow", lastTaskId: taskId },
    ]);
  });

  test("a thousand schedules are stored by one call, and recorded as one action", async () => {
    const { admin } = db.app({ tasks: [task] });
    const names = Array.from({ length: 1_000 }, (_, n) => `report ${n} ${Math.sin(n)}`);
    const [first, ...others] = names.map((name) =>
      defineSchedule({ name, task, every: { days: 365 } }),
    );
    if (first === undefined) throw new Error("expected a schedule");
    await admin.schedules.upsert(first, ...others);
    expect(await admin.schedules.list()).toHaveLength(1_000);
    expect(await admin.actions.list()).toMatchObject([
      { action: "upsert schedules", target: null, affected: 1_000, filter: { names } },
    ]);
  });

  test("refuse what is no schedule, and names of code", async () => {
    const app = db.app({ tasks: [task], schedules: [yearly] });
    const worker = await app.worker({ concurrency: 1 }).start();
    await worker.stop();
    await expect(app.admin.schedules.upsert(yearly)).rejects.toThrow(
      /"yearly" belongs to a schedule in the code of an app/,
    );
    await expect(app.admin.schedules.upsert({ name: "x" } as never)).rejects.toThrow(
      /schedules\[0\]: expected a schedule from defineSchedule\(\), found an object/,
    );
  });
});

describe("pause and resume", () => {
  test("change the state once, and a resumed schedule goes on with its next slot", async () => {
    const { schedules } = db.app({ tasks: [task] }).admin;
    await schedules.upsert(yearly);
    expect(await schedules.pause("yearly")).toBe(true);
    expect(await schedules.pause("yearly")).toBe(false);
    expect(await schedules.list()).toMatchObject([
      { pausedAt: expect.any(Date), pausedBy: "operator" },
    ]);
    await db.sql(
      `update posthaste.schedules set next_slot = '2020-01-01', due_at = '2020-01-01', failures = 3,
              last_error = 'x', buffered_slot = '2020-01-01'`,
    );
    expect(await schedules.resume("yearly")).toBe(true);
    expect(await schedules.resume("yearly")).toBe(false);
    const [info] = await schedules.list();
    expect(info).toMatchObject({
      pausedAt: null,
      failures: 0,
      lastError: null,
      bufferedSlot: null,
    });
    expect(info?.nextSlot?.getTime()).toBeGreaterThan(Date.now());
  });

  test("a pause survives the next start of the code", async () => {
    const app = db.app({ tasks: [task], schedules: [yearly] });
    await (await app.worker({ concurrency: 1 }).start()).stop();
    await app.admin.schedules.pause("yearly");
    await (await app.worker({ concurrency: 1 }).start()).stop();
    expect(await app.admin.schedules.list()).toMatchObject([{ pausedBy: "operator" }]);
  });
});

describe("trigger", () => {
  test("takes a moment that no slot of the history has", async () => {
    const { schedules } = db.app({ tasks: [task] }).admin;
    await schedules.upsert(yearly);
    await db.sql(
      `insert into posthaste.schedule_firings (schedule, slot, fired_at, skipped)
       select 'yearly', date_trunc('milliseconds', now()) + ms * interval '1 millisecond', now(), 'overlap'
         from generate_series(-100, 1500) as ms`,
    );
    const { slot, taskId } = await schedules.trigger("yearly");
    expect(
      await db.sql("select slot, task_id from posthaste.schedule_firings where triggered"),
    ).toEqual([{ slot, task_id: taskId }]);
  });

  test("fires beside the pattern: while paused, and while its last task waits", async () => {
    const { schedules } = db.app({ tasks: [task] }).admin;
    await schedules.upsert(yearly);
    const [before] = await schedules.list();
    await schedules.pause("yearly");
    const fired = [await schedules.trigger("yearly"), await schedules.trigger("yearly")];
    expect(new Set(fired.map(({ slot }) => slot.getTime())).size).toBe(2);
    const rows = await db.sql<{ task_id: string }>(
      "select task_id from posthaste.schedule_firings where triggered order by slot",
    );
    expect(rows.map((row) => row.task_id)).toEqual(fired.map(({ taskId }) => taskId));
    expect(await schedules.list()).toMatchObject([
      { nextSlot: before?.nextSlot, lastTaskId: fired[1]?.taskId },
    ]);
  });

  test("starts the run of a workflow", async () => {
    const app = db.app({ tasks: [task], workflows: [workflow] });
    await app.admin.schedules.upsert(monthly);
    await app.worker({ concurrency: 1 }).start();
    const { runId, taskId } = await app.admin.schedules.trigger("books");
    expect(taskId).toBeNull();
    expect(await app.workflow(workflow, runId ?? "").value()).toEqual({ report: "done" });
  });
});

describe("next", () => {
  test("gives the stored slot first, and none after the end", async () => {
    const { schedules } = db.app({ tasks: [task] }).admin;
    const day = 86_400_000;
    const endAt = new Date(Date.now() + 2.5 * day);
    await schedules.upsert(defineSchedule({ name: "few", task, every: { days: 1 }, endAt }));
    const slots = await schedules.next("few", 5);
    expect(slots.length).toBeGreaterThanOrEqual(2);
    expect(slots.length).toBeLessThan(4);
    const [info] = await schedules.list();
    expect(slots[0]).toEqual(info?.nextSlot);
    expect((slots[1]?.getTime() ?? 0) - (slots[0]?.getTime() ?? 0)).toBe(day);
    await expect(schedules.next("few", 0)).rejects.toThrow(/count: expected a whole number/);
  });
});

describe("delete", () => {
  test("removes a schedule of the database with its history", async () => {
    const { schedules } = db.app({ tasks: [task] }).admin;
    await schedules.upsert(yearly);
    await schedules.trigger("yearly");
    await schedules.delete("yearly");
    expect(await schedules.list()).toEqual([]);
    expect(await db.sql("select from posthaste.schedule_firings")).toEqual([]);
  });

  test("refuses a schedule of living code, and takes an orphaned one", async () => {
    const app = db.app({ tasks: [task], schedules: [yearly] });
    await (await app.worker({ concurrency: 1 }).start()).stop();
    await expect(app.admin.schedules.delete("yearly")).rejects.toThrow(
      /"yearly" is in the code of a living app/,
    );
    await db.sql("update posthaste.schedules set listed_at = now() - interval '10 minutes'");
    await app.admin.schedules.delete("yearly");
    expect(await app.admin.schedules.list()).toEqual([]);
  });

  test("every call throws SCHEDULE_NOT_FOUND for an unknown name, with the nearest one", async () => {
    const { schedules } = db.app({ tasks: [task] }).admin;
    await schedules.upsert(yearly);
    for (const call of ["pause", "resume", "trigger", "next", "delete"] as const)
      await expect(schedules[call]("yaerly")).rejects.toMatchObject({
        code: "SCHEDULE_NOT_FOUND",
        message: 'there is no schedule "yaerly"; did you mean "yearly"?',
      });
  });
});
