/** The long cases of hung-workers.test.ts: several processes in turn, a debugger, a worker that only reports. */
import { expect, test } from "vitest";
import {
  hungAlone,
  hungAndReported,
  hungUnderSupervisor,
  hungWhileDebugged,
} from "../scenarios/hung-workers.ts";
import { onDatabase } from "../support/on-database.ts";

test("with onCrash requeue it ends after maxCrashes, and every process that it took has a successor", async () => {
  const report = await onDatabase((url) => hungUnderSupervisor(url, "requeue"));
  expect(report).toMatchObject({ error: "WORKER_CRASHED", attempts: 3, workersAlive: 2 });
  expect(report.reason).toContain("maxCrashes is 3");
  expect(report.namedInLog).toEqual([report.taskId, report.taskId, report.taskId]);
}, 180_000);

test("without a supervisor the process exits by SIGKILL, and the next one recovers the task", async () => {
  const report = await onDatabase((url) => hungAlone(url, "policy"));
  expect(report).toMatchObject({ exit: "SIGKILL", error: "WORKER_CRASHED", workersAlive: 1 });
  expect(report.reason).toContain("event loop blocked");
}, 180_000);

test("a process is left alone while a debugger is attached to it, and listed as blocked", async () => {
  const report = await onDatabase(hungWhileDebugged);
  expect(report).toMatchObject({ aliveWhileAttached: true, state: "blocked", exit: "SIGKILL" });
}, 120_000);

test("with onBlocked report the log says so once, and the worker goes on when its loop turns", async () => {
  const report = await onDatabase(hungAndReported);
  expect(report).toMatchObject({ worksOn: true, isSameProcess: true });
  expect(report.reports).toHaveLength(1);
  expect(report.reports[0]).toMatchObject({ level: "error", tasks: [{ name: "spin" }] });
}, 120_000);
