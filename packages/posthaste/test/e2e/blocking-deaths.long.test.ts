import { expect, test } from "vitest";
import { dyingTasks, endlessTasks } from "../scenarios/blocking-tasks.ts";
import { useDatabase } from "../support/database.ts";
import { SOON_MS } from "../support/soon.ts";

const db = useDatabase();

test("process.exit and out of memory fail their own task; the worker process and the others go on", async () => {
  expect(await dyingTasks(db.url)).toEqual({
    exit: "UNHANDLED_ERROR: the task called process.exit(3)",
    memory: "UNHANDLED_ERROR: the task ran out of memory (thread heap limit 96 MB)",
    survivors: 2,
    isSameProcess: true,
  });
});

test("a task that spins for ever is ended at its timeout, and the only slot runs the next task", async () => {
  const { codes, nextAfterMs } = await endlessTasks(db.url, 1);
  expect(codes).toEqual(["TASK_TIMEOUT", "TASK_TIMEOUT"]);
  expect(nextAfterMs[0]).toBeGreaterThanOrEqual(0);
  expect(nextAfterMs[0]).toBeLessThan(SOON_MS);
});
