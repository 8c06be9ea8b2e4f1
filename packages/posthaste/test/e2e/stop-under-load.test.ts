import { expect, test } from "vitest";
import { stoppedWorker } from "../scenarios/stopped-worker.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

test.each([
  ["SIGTERM", { graceMs: 200 }],
  ["a second SIGTERM", { graceMs: 60_000, hurryAfterMs: 200 }],
])(
  "a worker process that gets %s under load exits with 0 and holds no task, and another process completes the rest and spends no retry",
  async (_, options) => {
    const report = await stoppedWorker({ url: db.url, delayMs: 300, ...options });
    expect(report).toMatchObject({
      exitCode: 0,
      heldAfterwards: 0,
      state: "stopped",
      retriesSpent: 0,
      interrupted: { "ignores-its-signal INTERRUPTED": 5, "lets-itself-abort INTERRUPTED": 5 },
      statuses: { COMPLETED: report.sent },
      brokenLaws: [],
    });
    expect(report.running).toBeGreaterThanOrEqual(15);
  },
);
