import { expect, test } from "vitest";
import { retriedTasks } from "../scenarios/retried-tasks.ts";
import { figures } from "../support/figures.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

test("retried tasks run one new series each, while workers are killed, operators collide and a frozen worker wakes up", async () => {
  const report = await retriedTasks({ url: db.url, count: 1_000, maxPerSecond: 250, kills: 2 });

  const { perSecond, crashed, zombieHandlers, ...facts } = report;
  figures("retried tasks", { perSecond, crashed, zombieHandlers });
  expect(facts).toEqual({
    matched: 1_000,
    changed: 1_000,
    kills: 2,
    statuses: { COMPLETED: 1_000 },
    retries: [1, 1],
    firstSeriesKept: 1_000,
    changedByBoth: 0,
    retriedTwice: 0,
    changedByZombie: 0,
    brokenLaws: [],
  });
  // A busy machine may be slower, never faster.
  expect(perSecond).toBeLessThan(250 * 1.05);
});
