/** Findings about a real pgbouncer in transaction mode; scripts/install-pgbouncer.sh installs it. */
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { posthaste, type AppConfig, type Finding } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";
import { startPgbouncer, type Pgbouncer } from "../support/pgbouncer.ts";

const db = useDatabase();
let bouncer: Pgbouncer;
beforeAll(async () => {
  bouncer = await startPgbouncer(inject("serverUrl"));
});
afterAll(() => bouncer.stop());

async function examine(database: NonNullable<AppConfig["database"]>): Promise<Finding[]> {
  const app = posthaste({ database, logger: silentLogger });
  const findings = await app.admin.doctor();
  await app.close();
  return findings.filter(({ code }) => code !== "DURABILITY_OFF");
}

test("a pooler before every session is named, and that LISTEN does not work", async () => {
  expect(await examine(bouncer.url(db.url))).toMatchObject([
    {
      code: "LISTEN_FAILED",
      level: "problem",
      advice: expect.stringContaining("database.sessionUrl"),
    },
    { code: "POOLER", level: "warning" },
  ]);
});

test("a pooler with a direct sessionUrl is told about", async () => {
  expect(await examine({ url: bouncer.url(db.url), sessionUrl: db.url })).toMatchObject([
    { code: "POOLER", level: "info" },
  ]);
});
