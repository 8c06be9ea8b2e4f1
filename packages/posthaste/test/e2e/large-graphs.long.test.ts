import { expect, test } from "vitest";
import { largeGraphs } from "../scenarios/large-graphs.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";

const db = useDatabase({ isEmpty: true });

test("a run of 10,000 nodes starts as fast after small graphs as before", async () => {
  const report = await largeGraphs(db.url);
  figures("start of 10,000 nodes", report);
  expect(report.inLine).toEqual([10_000, 10_000]);
  // The plan of an empty table took 90 s and more; a busy machine adds less than 3 s.
  expect(report.afterSmallOnesMs).toBeLessThan(2 * report.firstMs + 3_000);
}, 120_000);
