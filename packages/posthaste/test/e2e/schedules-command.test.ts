/** `posthaste schedules` and `posthaste scheduler` on a real database. */
import { expect, test } from "vitest";
import { defineSchedule, defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { runPosthaste, useAppFiles, type Ran } from "../support/command-line.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);
const appFile = useAppFiles();

function posthaste(...args: string[]): Promise<Ran> {
  return runPosthaste({ DATABASE_URL: db.url }, ...args);
}

const report = defineTask({ name: "report", run: () => null });
const nightly = defineSchedule({ name: "nightly", task: report, daily: { at: "02:30" } });

test("schedules list, next, pause, resume and trigger show and change a schedule", async () => {
  expect((await posthaste("schedules", "list")).stdout).toBe("there is no schedule\n");
  await db.app({ tasks: [report] }).admin.schedules.upsert(nightly);
  const cells = async (): Promise<string[]> =>
    (await posthaste("schedules", "list")).stdout.trim().split("\n").at(-1)?.split(/ {2,}/) ?? [];
  expect(await cells()).toEqual([
    "nightly",
    "active",
    "report",
    "daily at 02:30 UTC",
    expect.stringMatching(/^in \d+ (h|min|s)$/),
    "-",
  ]);

  const { stdout } = await posthaste("schedules", "next", "nightly", "--count", "2", "--json");
  const slots = JSON.parse(stdout) as string[];
  expect(slots).toEqual([
    expect.stringMatching(/T02:30:00\.000Z$/),
    expect.stringMatching(/T02:30:00\.000Z$/),
  ]);
  expect((await posthaste("schedules", "next", "nightly")).stdout.trim().split("\n")).toHaveLength(
    5,
  );

  expect((await posthaste("schedules", "pause", "nightly")).stdout).toBe(
    "schedule nightly is paused now\n",
  );
  expect((await posthaste("schedules", "pause", "nightly")).stdout).toBe(
    "schedule nightly was paused already\n",
  );
  expect((await cells())[1]).toMatch(/^paused /);

  // While it is paused, and by a process that does not know the task.
  const fired = JSON.parse(
    (await posthaste("schedules", "trigger", "nightly", "--json")).stdout,
  ) as {
    taskId: string;
  };
  expect(await db.sql("select task_id, name, key from posthaste.submissions")).toEqual([
    { task_id: fired.taskId, name: "report", key: null },
  ]);
  expect((await posthaste("schedules", "resume", "nightly")).stdout).toBe(
    "schedule nightly goes on now\n",
  );
  expect((await posthaste("schedules", "resume", "nightly", "--json")).stdout).toContain(
    '"changed": false',
  );
});

test("schedules exits with 4 for an unknown name and suggests the nearest, with 2 for a wrong count", async () => {
  await db.app({ tasks: [report] }).admin.schedules.upsert(nightly);
  const { code, stderr } = await posthaste("schedules", "pause", "nigthly");
  expect(code).toBe(4);
  expect(stderr).toContain('there is no schedule "nigthly"; did you mean "nightly"?');
  expect((await posthaste("schedules", "next", "nightly", "--count", "0")).code).toBe(2);
});

test("scheduler fires the schedules of an app file", async () => {
  const file = appFile(
    "clock.ts",
    `
    import { defineSchedule, defineTask, posthaste } from "posthaste";
    const task = defineTask({ name: "tick", run: () => null });
    const schedule = defineSchedule({ name: "tick", task, every: { seconds: 1 } });
    export const app = posthaste({ schedules: [schedule], hooks: { taskSent: () => process.kill(process.pid, "SIGTERM") } });
  `,
  );
  const { code } = await posthaste("scheduler", file, "--name", "clock");
  expect(code).toBe(0);
  expect(await db.sql("select name from posthaste.submissions")).toContainEqual({ name: "tick" });
  expect(
    await db.sql("select name, state, metadata ->> 'role' as role from posthaste.workers"),
  ).toEqual([{ name: "clock", state: "stopped", role: "scheduler" }]);
});
