import { expect, test } from "vitest";
import { killedWithEnds } from "../scenarios/killed-with-ends.ts";
import { figures } from "../support/figures.ts";
import { onDatabase } from "../support/on-database.ts";

test("a killed worker loses at most `concurrency` finished tasks, and ends that were on their way are written", async () => {
  const { concurrency, ...report } = await onDatabase(killedWithEnds);
  figures("a kill while ends cannot be written", { concurrency, ...report });
  expect(report.finished).toBeGreaterThanOrEqual(concurrency);
  expect(report.lost).toBeLessThanOrEqual(concurrency);
  expect(report.kept).toBe(report.finished - report.lost);
});
