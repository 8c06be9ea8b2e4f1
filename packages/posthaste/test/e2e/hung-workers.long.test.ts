/** The long cases of hung-workers.test.ts: several processes in turn, a debugger, a worker that only reports. */
import { expect, test } from "vitest";
import {
  hungAlone,
  hungAndReported,
  hungUnderSupervisor,
  hungWhileDebugged,
} from "../scenarios/hung-workers.ts";
import { onDatabase } from "../support/on-database.ts";

test("a hung task with onCrash requeue fails after maxCrashes, and the supervisor replaces every process that it blocked", async () => {
  const report = await onDatabase((url) => hungUnderSupervisor(url, "requeue"));
  expect(report).toMatchObject({ error: "WORKER_CRASHED", attempts: 3, workersAlive: 2 });
  expect(report.reason).toContain("maxCrashes is 3");
  expect(report.namedInLog).toEqual([report.taskId, report.taskId, report.taskId]);
}, 180_000);

test("a hung process without a supervisor exits by SIGKILL, and the next process recovers its task", async () => {
  const report = await onDatabase((url) => hungAlone(url, "policy"));
  expect(report).toMatchObject({ exit: "SIGKILL", error: "WORKER_CRASHED", workersAlive: 1 });
  expect(report.reason).toContain("event loop blocked");
}, 180_000);

test("a hung process is not ended while a debugger is attached, and is listed as blocked", async () => {
  const report = await onDatabase(hungWhileDebugged);
  expect(report).toMatchObject({ aliveWhileAttached: true, state: "blocked", exit: "SIGKILL" });
}, 120_000);

test("a hung worker with onBlocked report logs one line, and continues when its event loop turns", async () => {
  const report = await onDatabase(hungAndReported);
  expect(report).toMatchObject({ worksOn: true, isSameProcess: true });
  expect(report.reports).toHaveLength(1);
  expect(report.reports[0]).toMatchObject({ level: "error", tasks: [{ name: "spin" }] });
}, 120_000);
