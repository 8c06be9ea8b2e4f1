/** The firing statements, with "now" as a parameter. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineSchedule, defineTask, defineWorkflow } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { scheduleStage, type ScheduleStage } from "../scenarios/schedule-stage.ts";

const MINUTE = 60_000;
/** A full hour. */
const T0 = Date.parse("2026-01-01T00:00:00Z");

const db = useDatabase();
useCleanTables(db);

const task = defineTask({
  name: "report",
  input: z.object({ kind: z.string() }),
  priority: 7,
  maxCrashes: 2,
  run: () => 1,
});
const step = defineTask({ name: "step", run: () => 1 });
const workflow = defineWorkflow({
  name: "nightly",
  input: z.object({ day: z.string().transform((day) => `${day}!`) }),
  build: (flow) => {
    flow.node("one", step);
  },
});

const input = { kind: "daily" };
const every5 = { every: { minutes: 5 } } as const;

let stage: ScheduleStage;
/** A process without the definitions. */
let other: ScheduleStage;
beforeAll(() => {
  stage = scheduleStage(db.url, { tasks: [task, step], workflows: [workflow] });
  other = scheduleStage(db.url, {});
});
afterAll(() => Promise.all([stage.close(), other.close()]));

/** The firings of a schedule, with minutes after T0 as slots. */
async function firings(name: string): Promise<(readonly [number, string])[]> {
  const rows = await db.sql<{ ms: string; outcome: string }>(
    `select extract(epoch from slot) * 1000 as ms,
            coalesce(skipped, case when exists (select from posthaste.submissions s where s.task_id = f.task_id)
                                or exists (select from posthaste.workflows w where w.workflow_id = f.run_id)
                              then 'sent' else 'lost' end) as outcome
       from posthaste.schedule_firings f where schedule = $1 order by slot`,
    [name],
  );
  return rows.map(({ ms, outcome }) => [(Number(ms) - T0) / MINUTE, outcome]);
}

async function stateOf(name: string): Promise<Record<string, unknown>> {
  const row = await stage.parts.database.store.readSchedules.get(stage.parts.database.reads, name);
  if (row === undefined) throw new Error(`there is no schedule ${name}`);
  return { ...row };
}

const at = (minutes: number): number => T0 + minutes * MINUTE;

async function endLast(name: string): Promise<void> {
  const { lastTaskId, lastRunId } = await stateOf(name);
  if (lastTaskId !== null) await db.sql("select posthaste.cancel($1)", [lastTaskId]);
  else await db.sql("select posthaste.cancel_workflow($1)", [lastRunId]);
}

describe("fireSchedules", () => {
  test("sends the task of a due slot as its definition says, once", async () => {
    await stage.store("database", [defineSchedule({ name: "a", task, input, ...every5 })], T0);
    expect((await stage.fire(at(5) - 1)).plans).toEqual([]);
    expect((await stage.fire(at(5))).tasks).toHaveLength(1);
    expect((await stage.fire(at(5))).tasks).toEqual([]);
    expect(
      await db.sql("select name, queue, priority, input, options from posthaste.submissions"),
    ).toEqual([
      { name: "report", queue: "default", priority: 7, input, options: { maxCrashes: 2 } },
    ]);
    expect(await firings("a")).toEqual([[5, "sent"]]);
    expect(await stateOf("a")).toMatchObject({ nextSlot: at(10), dueAt: at(10), lastSlot: at(5) });
  });

  test("sends the same task from a process that does not have its definition", async () => {
    await stage.store("database", [defineSchedule({ name: "a", task, input, ...every5 })], T0);
    await other.fire(at(5));
    expect(
      await db.sql("select name, queue, priority, input, options from posthaste.submissions"),
    ).toEqual([
      { name: "report", queue: "default", priority: 7, input, options: { maxCrashes: 2 } },
    ]);
  });

  test("starts the run of a workflow with the parsed input, from any process", async () => {
    const schedule = defineSchedule({ name: "w", workflow, input: { day: "x" }, ...every5 });
    await stage.store("database", [schedule], T0);
    await stage.fire(at(5));
    await other.fire(at(10));
    expect(await db.sql("select name, input from posthaste.workflows")).toEqual([
      { name: "nightly", input: { day: "x!" } },
      { name: "nightly", input: { day: "x!" } },
    ]);
    expect(await firings("w")).toEqual([
      [5, "sent"],
      [10, "sent"],
    ]);
    expect(await db.sql("select from posthaste.ready_tasks")).toHaveLength(2);
  });

  test("fires each slot once when many processes try", async () => {
    const schedules = Array.from({ length: 300 }, (_, n) =>
      defineSchedule({ name: `s${n}`, task, input, ...every5 }),
    );
    await stage.store("database", schedules, T0);
    const stages = Array.from({ length: 4 }, () => scheduleStage(db.url, { tasks: [task] }));
    try {
      for (const now of [at(5), at(10)]) {
        const fired = await Promise.all(
          stages.map(
            async (each) =>
              (await each.fire(now)).tasks.length + (await each.fire(now)).tasks.length,
          ),
        );
        expect(fired.reduce((sum, count) => sum + count, 0)).toBe(300);
      }
    } finally {
      await Promise.all(stages.map((each) => each.close()));
    }
    expect(await db.sql("select count(*)::int as n from posthaste.submissions")).toEqual([
      { n: 600 },
    ]);
  });

  test("sends nothing for a slot that has a row", async () => {
    await stage.store("database", [defineSchedule({ name: "a", task, input, ...every5 })], T0);
    await stage.fire(at(5));
    await db.sql("update posthaste.schedules set next_slot = $1, due_at = $1", [new Date(at(5))]);
    expect((await stage.fire(at(5))).tasks).toEqual([]);
    expect(await db.sql("select from posthaste.submissions")).toHaveLength(1);
    expect(await stateOf("a")).toMatchObject({ nextSlot: at(10) });
  });

  test("fires nothing of a paused, orphaned or excepted schedule", async () => {
    const paused = defineSchedule({ name: "paused", task, input, ...every5, paused: true });
    await stage.store("database", [paused], T0);
    await stage.store("code", [defineSchedule({ name: "listed", task, input, ...every5 })], T0);
    expect((await stage.fire(at(10))).tasks).toEqual([]);
    expect((await stage.fire(at(5), { except: ["listed"] })).tasks).toEqual([]);
    expect((await stage.fire(at(5))).tasks).toHaveLength(1);
  });

  test("missed: skip leaves a row for the missed slots and fires the present one", async () => {
    await stage.store("database", [defineSchedule({ name: "a", task, input, ...every5 })], T0);
    await stage.fire(at(20));
    expect(await firings("a")).toEqual([
      [15, "missed"],
      [20, "sent"],
    ]);
    const [row] = await db.sql<{ first: Date }>(
      "select first_slot as first from posthaste.schedule_firings where skipped = 'missed'",
    );
    expect(row?.first.getTime()).toBe(at(5));
    await stage.fire(at(32));
    expect((await firings("a")).slice(2)).toEqual([[30, "missed"]]);
  });

  test("missed: all fires the newest ones", async () => {
    const all = { ...every5, missed: "all", maxMissed: 2 } as const;
    await stage.store("database", [defineSchedule({ name: "a", task, input, ...all })], T0);
    await stage.fire(at(22));
    expect(await firings("a")).toEqual([
      [10, "missed"],
      [15, "sent"],
      [20, "sent"],
    ]);
  });

  test("overlap: skip skips while the last task has not ended", async () => {
    const schedule = defineSchedule({ name: "a", task, input, ...every5, overlap: "skip" });
    await stage.store("database", [schedule], T0);
    await stage.fire(at(5));
    await stage.fire(at(10));
    await endLast("a");
    await stage.fire(at(15));
    expect(await firings("a")).toEqual([
      [5, "sent"],
      [10, "overlap"],
      [15, "sent"],
    ]);
  });

  test("overlap: skip looks at the run of a workflow", async () => {
    const options = { workflow, input: { day: "x" }, ...every5, overlap: "skip" } as const;
    await stage.store("database", [defineSchedule({ name: "w", ...options })], T0);
    await stage.fire(at(5));
    await stage.fire(at(10));
    await endLast("w");
    await stage.fire(at(15));
    expect(await firings("w")).toEqual([
      [5, "sent"],
      [10, "overlap"],
      [15, "sent"],
    ]);
  });

  test.each(["buffer", "cancel"] as const)(
    "overlap: %s keeps one slot until the last task has ended",
    async (overlap) => {
      const schedule = defineSchedule({ name: "a", task, input, ...every5, overlap });
      await stage.store("database", [schedule], T0);
      await stage.fire(at(5));
      await stage.fire(at(10));
      await stage.fire(at(15));
      expect((await stage.fire(at(16), { which: "buffered" })).tasks).toEqual([]);
      const look = await stage.parts.database.store.watchSchedules(
        stage.parts.database.reads,
        at(16),
        [],
      );
      const { lastTaskId: taskId } = await stateOf("a");
      expect(look).toMatchObject({
        hasBuffered: true,
        dueInMs: 4 * MINUTE,
        toCancel: overlap === "cancel" ? [{ name: "a", taskId, runId: null }] : [],
      });
      await endLast("a");
      expect((await stage.fire(at(17), { which: "buffered" })).tasks).toHaveLength(1);
      expect(await firings("a")).toEqual([
        [5, "sent"],
        [10, "sent"],
        [15, "overlap"],
      ]);
      expect(await stateOf("a")).toMatchObject({ bufferedSlot: null, nextSlot: at(20) });
    },
  );

  test("a task that another process has sent counts as not ended", async () => {
    const schedule = defineSchedule({ name: "a", task, input, ...every5, overlap: "skip" });
    await stage.store("database", [schedule], T0);
    const fired = await Promise.all([stage.fire(at(5)), other.fire(at(5))]);
    expect(fired.flatMap(({ tasks }) => tasks)).toHaveLength(1);
    const again = await Promise.all([stage.fire(at(10)), other.fire(at(10))]);
    expect(again.flatMap(({ tasks }) => tasks)).toEqual([]);
  });

  test("does not fire a pattern, a time zone or a policy of a newer library", async () => {
    const schedules = ["kind", "zone", "policy", "plain"].map((name) =>
      defineSchedule({ name, task, input, ...every5 }),
    );
    await stage.store("database", schedules, T0);
    await db.sql(
      `update posthaste.schedules set pattern = '{"kind": "lunar"}' where name = 'kind'`,
    );
    await db.sql(
      "update posthaste.schedules set timezone = 'Mars/Olympus', pattern = $1 where name = 'zone'",
      [{ kind: "daily", hour: 1, minute: 0, second: 0 }],
    );
    await db.sql("update posthaste.schedules set overlap = 'merge' where name = 'policy'");
    const { unknown, tasks } = await stage.fire(at(5));
    expect(unknown.toSorted()).toEqual(["kind", "policy", "zone"]);
    expect(tasks).toHaveLength(1);
    expect(await stateOf("kind")).toMatchObject({ nextSlot: at(5), failures: 0 });
  });

  test("an input that the definition refuses fails its schedule alone, and pauses it in the end", async () => {
    const schedules = ["bad", "good"].map((name) =>
      defineSchedule({ name, task, input, ...every5 }),
    );
    await stage.store("database", schedules, T0);
    await db.sql(`update posthaste.schedules set input = '{"kind": 5}' where name = 'bad'`);
    const { tasks, plans } = await stage.fire(at(5));
    expect(tasks).toHaveLength(1);
    expect(plans.filter(({ error }) => error !== undefined).map(({ row }) => row.name)).toEqual([
      "bad",
    ]);
    expect(await stateOf("bad")).toMatchObject({
      failures: 1,
      dueAt: at(5) + 1_000,
      nextSlot: at(5),
      pausedAt: null,
    });
    for (let failures = 2; failures <= 10; failures++) {
      await stage.fire(Number((await stateOf("bad"))["dueAt"]));
      expect(await stateOf("bad")).toMatchObject({ failures });
    }
    expect(await stateOf("bad")).toMatchObject({
      pausedBy: "failures",
      lastError: expect.stringContaining("input.kind"),
    });
    expect(await firings("bad")).toEqual([]);
  });

  test("a task that PostgreSQL refuses fails its schedule alone", async () => {
    const schedules = ["bad", "good", "fine"].map((name) =>
      defineSchedule({ name, task, input, ...every5 }),
    );
    await stage.store("database", schedules, T0);
    await db.sql(
      `update posthaste.schedules set task = 'elsewhere', submission = '{"queue":"q","priority":500}' where name = 'bad'`,
    );
    const { tasks } = await stage.fire(at(5));
    expect(tasks).toHaveLength(2);
    expect(await stateOf("bad")).toMatchObject({
      failures: 1,
      nextSlot: at(5),
      lastError: expect.any(String),
    });
    expect(await stateOf("good")).toMatchObject({ failures: 0, nextSlot: at(10) });
  });

  test("jitter delays a slot, and the next slot stays on the grid", async () => {
    const schedule = defineSchedule({ name: "a", task, input, ...every5, jitterMs: 60_000 });
    await stage.store("database", [schedule], T0);
    const { dueAt } = await stateOf("a");
    expect(dueAt).toBeGreaterThan(at(5));
    expect((await stage.fire(Number(dueAt) - 1)).tasks).toEqual([]);
    expect((await stage.fire(Number(dueAt))).tasks).toHaveLength(1);
    expect(await firings("a")).toEqual([[5, "sent"]]);
    expect(await stateOf("a")).toMatchObject({ nextSlot: at(10) });
  });
});

describe("storing schedules", () => {
  test("keeps the next slot of an unchanged pattern, and begins anew with a changed one", async () => {
    const plain = { name: "a", task, input };
    await stage.store("code", [defineSchedule({ ...plain, ...every5 })], T0);
    await stage.store(
      "code",
      [defineSchedule({ ...plain, input: { kind: "x" }, ...every5 })],
      at(7),
    );
    expect(await stateOf("a")).toMatchObject({ nextSlot: at(5), input: '{"kind":"x"}' });
    await stage.store("code", [defineSchedule({ ...plain, every: { minutes: 10 } })], at(27));
    expect(await stateOf("a")).toMatchObject({ nextSlot: at(30), dueAt: at(30) });
    expect((await stage.fire(at(29))).tasks).toEqual([]);
  });

  test("a pause survives, and `paused` counts only for a new schedule", async () => {
    const plain = { name: "a", task, input, ...every5 };
    await stage.store("code", [defineSchedule({ ...plain, paused: true })], T0);
    await stage.store("code", [defineSchedule(plain)], T0);
    expect(await stateOf("a")).toMatchObject({ pausedAt: T0, pausedBy: "code" });
    await db.sql("update posthaste.schedules set paused_at = null, paused_by = null");
    await stage.store("code", [defineSchedule({ ...plain, paused: true })], T0);
    expect(await stateOf("a")).toMatchObject({ pausedAt: null });
  });

  test("refuses names of the other kind, all or none", async () => {
    const [a, b] = ["a", "b"].map((name) => defineSchedule({ name, task, input, ...every5 }));
    if (a === undefined || b === undefined) throw new Error("two schedules");
    await stage.store("database", [a], T0);
    expect(await stage.store("code", [a, b], T0)).toEqual(["a"]);
    expect(await db.sql("select name, owner from posthaste.schedules")).toEqual([
      { name: "a", owner: "database" },
    ]);
  });

  test("a schedule that is listed again fires again", async () => {
    const schedule = defineSchedule({ name: "a", task, input, ...every5, missed: "latest" });
    await stage.store("code", [schedule], T0);
    const { store, reads } = stage.parts.database;
    expect((await store.watchSchedules(reads, at(11), [])).orphaned).toEqual(["a"]);
    expect((await stage.fire(at(11))).tasks).toEqual([]);
    await store.storeSchedules.list(reads, ["a"], at(11));
    expect((await store.watchSchedules(reads, at(11), [])).orphaned).toEqual([]);
    expect((await stage.fire(at(11))).tasks).toHaveLength(1);
  });
});
