import { expect, test } from "vitest";
import { onServer } from "../scenarios/outage-stages.ts";
import { outageStorm } from "../scenarios/outage-storm.ts";
import { figures } from "../support/figures.ts";
import { SOON_MS } from "../support/soon.ts";

test("two abrupt stops of PostgreSQL under load lose no task, run no handler twice and end no process", async () => {
  const report = await onServer((stage) =>
    outageStorm({ stage, outagesMs: [1_000, 2_000], calmMs: 1_000 }),
  );

  figures("outages", report);
  expect(report).toMatchObject({
    processesGone: 0,
    missing: 0,
    notCompleted: 0,
    neverRan: 0,
    ranTwice: 0,
    aborted: 0,
    brokenLaws: [],
  });
  expect(report.outlived).toBeGreaterThan(0);
  expect(report.acknowledged).toBeGreaterThan(100);
  expect(report.saidGone).toBe(report.saidBack);
  expect(Math.max(...report.firstClaimsMs)).toBeLessThan(SOON_MS);
});
