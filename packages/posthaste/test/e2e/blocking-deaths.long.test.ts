import { expect, test } from "vitest";
import { dyingTasks, endlessTasks } from "../scenarios/blocking-tasks.ts";
import { useDatabase } from "../support/database.ts";
import { SOON_MS } from "../support/soon.ts";

const db = useDatabase();

test("process.exit() or running out of memory in a blocking task fails only that task; its worker process continues", async () => {
  expect(await dyingTasks(db.url)).toEqual({
    exit: "UNHANDLED_ERROR: the task called process.exit(3)",
    memory: "UNHANDLED_ERROR: the task ran out of memory (thread heap limit 96 MB)",
    survivors: 2,
    isSameProcess: true,
  });
});

test("a blocking task that spins for ever ends at its timeout, and the only slot runs the next task", async () => {
  const { codes, nextAfterMs } = await endlessTasks(db.url, 1);
  expect(codes).toEqual(["TASK_TIMEOUT", "TASK_TIMEOUT"]);
  expect(nextAfterMs[0]).toBeGreaterThanOrEqual(0);
  expect(nextAfterMs[0]).toBeLessThan(SOON_MS);
});
