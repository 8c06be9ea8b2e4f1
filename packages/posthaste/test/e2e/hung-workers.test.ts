/** A task that never lets the event loop turn again: the process is ended, and everything else goes on. */
import { expect, test } from "vitest";
import { hungAndTerminated, hungUnderSupervisor } from "../scenarios/hung-workers.ts";
import { onDatabase } from "../support/on-database.ts";

test("a hung task with the default crash rule fails, and the supervisor replaces its process", async () => {
  const report = await onDatabase((url) => hungUnderSupervisor(url, "policy"));
  expect(report).toMatchObject({ error: "WORKER_CRASHED", attempts: 1, workersAlive: 2 });
  expect(report.reason).toContain("event loop blocked");
  expect(report.namedInLog).toEqual([report.taskId]);
  // Its loop reads the clock, so the innermost function may be one of Node's.
  expect(report.stack).toContainEqual(expect.stringMatching(/^run \(.*recovery-app\.ts:\d+\)$/));
}, 180_000);

test("a supervisor that gets SIGTERM kills children whose event loop is blocked", async () => {
  const report = await onDatabase(hungAndTerminated);
  expect(report).toMatchObject({ exit: 1, alive: [] });
  expect(new Set(report.killedInLog)).toEqual(new Set(report.pids));
  expect(report.stoppedAfterMs).toBeGreaterThanOrEqual(report.graceMs);
}, 120_000);
