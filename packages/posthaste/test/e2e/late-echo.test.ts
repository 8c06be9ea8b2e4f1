import { expect, test } from "vitest";
import { lateEcho } from "../scenarios/late-echo.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";

const db = useDatabase();

test("a listener whose first echo is four seconds late receives notifications from then on, and logs nothing about a pooler", async () => {
  const report = await lateEcho(db.url);
  figures("late echo", report);
  expect(report.wokenAfterMs).toBeLessThan(20_000);
  expect(report.said[0]).toBe(
    "listener has not received its own test notification; polling until it does",
  );
  expect(report.said.filter((line) => line.includes("pooler"))).toEqual([]);
}, 180_000);
