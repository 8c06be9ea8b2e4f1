/** A small storm: `npm run show -- operate.1` is the whole one. */
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { scheduleStorm } from "../scenarios/schedule-storm.ts";

const db = useDatabase();

test("each slot fires once by its policy, over outages, clock changes and killed processes", async () => {
  const report = await scheduleStorm(db.url, {
    begin: Date.parse("2026-03-20T00:00:00Z"), // an outage hides a gap, and an overlap follows
    schedules: 60,
    hours: 420,
    processes: 2,
    killEveryMs: 1_500,
  });
  expect(report).toMatchObject({ wrong: [], unmatched: 0 });
  expect(report.expected.sent).toBeGreaterThan(1_000);
  expect(report.expected.missed).toBeGreaterThan(10);
  expect(report.kills).toBeGreaterThan(0);
}, 240_000);
