import { expect, test } from "vitest";
import { lateEcho } from "../scenarios/late-echo.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";

const db = useDatabase();

test("a listener whose first echo is four seconds late hears from then on, and blames nobody", async () => {
  const report = await lateEcho(db.url);
  figures("late echo", report);
  expect(report.wokenAfterMs).toBeLessThan(20_000);
  expect(report.said[0]).toBe("no echo of our own notification so far; polling until one arrives");
  expect(report.said.filter((line) => line.includes("pooler"))).toEqual([]);
}, 180_000);
