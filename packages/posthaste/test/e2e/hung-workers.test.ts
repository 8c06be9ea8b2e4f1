/** A task that never lets the event loop turn again: the process is ended, and everything else goes on. */
import { expect, test } from "vitest";
import { hungAndTerminated, hungUnderSupervisor } from "../scenarios/hung-workers.ts";
import { onDatabase } from "../support/on-database.ts";

test("with the default rule the task fails, and its process has a successor", async () => {
  const report = await onDatabase((url) => hungUnderSupervisor(url, "policy"));
  expect(report).toMatchObject({ error: "WORKER_CRASHED", attempts: 1, workersAlive: 2 });
  expect(report.reason).toContain("event loop blocked");
  expect(report.namedInLog).toEqual([report.taskId]);
  expect(report.stack[0]).toMatch(/^run \(.*recovery-app\.ts:\d+\)$/);
}, 180_000);

test("a supervisor that is told to stop kills children whose event loop is blocked", async () => {
  const report = await onDatabase(hungAndTerminated);
  expect(report).toMatchObject({ exit: 1, alive: [] });
  expect(new Set(report.killedInLog)).toEqual(new Set(report.pids));
  expect(report.stoppedAfterMs).toBeGreaterThanOrEqual(report.graceMs);
}, 120_000);
