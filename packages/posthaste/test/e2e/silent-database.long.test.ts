import { expect, test } from "vitest";
import {
  onFrozenServer,
  stopWhileSilent,
  throughSilentProxy,
  type SilentDatabaseReport,
} from "../scenarios/silent-database.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";
import { SOON_MS } from "../support/soon.ts";

const db = useDatabase();

function expectInTime(report: SilentDatabaseReport): void {
  figures("silent database", report);
  const { graceMs } = report;
  expect(report).toMatchObject({ busyExitCode: 0, idleExitCode: 0 });
  // 5 s behind the grace on an idle machine, as `npm run show -- trust.4` says; before, it took 59 to 86 s.
  expect(report.busyExitMs).toBeLessThan(graceMs + SOON_MS);
  expect(report.idleExitMs).toBeLessThan(graceMs + SOON_MS);
  expect(report.closeMs).toBeLessThan(SOON_MS);
  for (const code of Object.values(report.calls))
    expect(["CLOSED", "DATABASE_UNAVAILABLE"]).toContain(code);
}

test("workers exit within their grace and 5 s of SIGTERM, and calls end, while the network swallows every byte", async () => {
  expectInTime(await throughSilentProxy(db.url, stopWhileSilent));
}, 180_000);

test("workers exit within their grace and 5 s of SIGTERM, and calls end, while every process of the server stands still", async () => {
  expectInTime(await onFrozenServer(stopWhileSilent));
}, 180_000);
