/** The short form, in one process: test/security/rolling-functions.test.ts. */
import { expect, test } from "vitest";
import { rollingDeploys, rollingDeploysUnderRoles } from "../scenarios/rolling-deploys.ts";
import { figures } from "../support/figures.ts";
import { onDatabase } from "../support/on-database.ts";

test.each([
  ["as the owner of the database", rollingDeploys],
  ["as producer and worker", rollingDeploysUnderRoles],
] as const)(
  "the newest functions stay and no call fails when old and new processes start in turns 50 times, %s",
  async (who, scenario) => {
    const { failures, ...report } = await onDatabase(scenario);
    figures(`rolling deployments, ${who}`, { ...report, failures: failures.length });
    expect(failures).toEqual([]);
    expect(report.overwritten).toBe(0);
    expect(report.versionsAtEnd).toEqual([report.newestVersion]);
    expect(report.starts).toBe(50);
    expect(report.calls).toBeGreaterThan(3 * report.starts); // the load has called throughout
  },
);
