import { expect, inject, test } from "vitest";
import { vanishedTasks } from "../scenarios/vanished-tasks.ts";
import { figures } from "../support/figures.ts";

test("a wait ends when a restored database does not know its task or run, and other waits go on", async () => {
  const { endedAfterMs, ...ends } = await vanishedTasks(inject("serverUrl"));
  figures("waits in a restored database", { endedAfterMs });
  expect(ends).toEqual({
    task: "TASK_NOT_FOUND",
    run: "WORKFLOW_NOT_FOUND",
    kept: "CLOSED",
    pollEveryMs: 1_000,
  });
  expect(endedAfterMs).toBeLessThan(30_000); // about three polls, and the sessions come back first
}, 120_000);
