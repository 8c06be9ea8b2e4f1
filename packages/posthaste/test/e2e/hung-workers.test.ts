/** A task that never lets the event loop turn again: the process is ended, and everything else goes on. */
import { expect, inject, test } from "vitest";
import { createThrowawayDatabase } from "../../src/store/throwaway-database.ts";
import {
  hungAlone,
  hungAndReported,
  hungAndTerminated,
  hungUnderSupervisor,
  hungWhileDebugged,
} from "../scenarios/hung-workers.ts";

async function onDatabase<Answer>(use: (url: string) => Promise<Answer>): Promise<Answer> {
  const serverUrl = inject("serverUrl");
  const database = await createThrowawayDatabase({ serverUrl, schema: "posthaste" });
  try {
    return await use(database.url);
  } finally {
    await database.drop();
  }
}

test("with the default rule the task fails, and its process has a successor", async () => {
  const report = await onDatabase((url) => hungUnderSupervisor(url, "policy"));
  expect(report).toMatchObject({ error: "WORKER_CRASHED", attempts: 1, workersAlive: 2 });
  expect(report.reason).toContain("event loop blocked");
  expect(report.namedInLog).toEqual([report.taskId]);
  expect(report.stack[0]).toMatch(/^run \(.*recovery-app\.ts:\d+\)$/);
}, 180_000);

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

test("a supervisor that is told to stop kills children whose event loop is blocked", async () => {
  const report = await onDatabase(hungAndTerminated);
  expect(report).toMatchObject({ exit: 1, alive: [] });
  expect(new Set(report.killedInLog)).toEqual(new Set(report.pids));
  expect(report.stoppedAfterMs).toBeGreaterThanOrEqual(report.graceMs);
}, 120_000);

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
