/** A standby that lagged behind is promoted, for real. */
import { expect, test } from "vitest";
import { failover } from "../scenarios/failover.ts";

test("a failover to a lagging standby runs no handler again under an old claim, applies the crash rule, and declares no worker dead", async () => {
  const report = await failover();
  expect(report).toMatchObject({
    onceRuns: 1,
    againRuns: 2,
    once: { ok: false, error: { code: "WORKER_CRASHED" } },
    again: { ok: true, value: "second" },
    besideRuns: 1,
    besideCompleted: true,
    deaths: 0,
  });
  expect(report.reasons).toEqual(["claim unknown", "claim unknown"]);
  expect(report.outageMs).toBeGreaterThan(report.thresholdMs);
}, 180_000);
