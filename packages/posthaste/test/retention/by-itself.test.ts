/** Every worker's maintenance pass prunes, and operators do. */
import { describe, expect, test } from "vitest";
import { databaseAt } from "../../src/config/config.ts";
import { Database } from "../../src/database/database.ts";
import { retentionRounds } from "../../src/recovery/prune.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { defineTask } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";
import { addEnded, addHeartbeats, addManyEnded, defaults } from "./old-rows.ts";

const db = useDatabase();
useCleanTables(db);

async function rows(): Promise<{ heartbeats: number; tasks: number } | undefined> {
  const [row] = await db.sql<{ heartbeats: number; tasks: number }>(
    `select (select count(*) from posthaste.heartbeats)::int as heartbeats,
            (select count(*) from posthaste.submissions)::int as tasks`,
  );
  return row;
}

describe("retention", () => {
  test("a worker deletes old records", async () => {
    await addEnded(db, [{ ago: "31 days" }, { ago: "1 day" }]);
    await addHeartbeats(db, ["25 hours", "1 hour"]);
    const logger = recordingLogger();
    const tasks = [defineTask({ name: "idle", run: () => null })];
    const app = db.app({ tasks, logger, recovery: { checkIntervalMs: 1_000 } });
    await app.worker().start();
    await expect.poll(rows).toEqual({ heartbeats: 1, tasks: 1 });
    await expect
      .poll(() => logger.lines.filter(({ message }) => message === "old records deleted"))
      .toMatchObject([{ fields: { pruned: { heartbeats: 1, terminalRecords: 1 } } }]);
  });

  test("a worker deletes heartbeats at every tick and other records once an hour", async () => {
    const log = recordingLogger();
    const database = new Database({
      locate: async () => databaseAt(db.url),
      schema: "posthaste",
      autoMigrate: true,
      log,
    });
    try {
      const tick = retentionRounds(database, defaults, log);
      await tick();
      await addEnded(db, [{ ago: "31 days" }]);
      await addHeartbeats(db, ["25 hours"]);
      await tick();
      expect(await rows()).toEqual({ heartbeats: 0, tasks: 1 });
      // A new worker does not know of the last round of another.
      await retentionRounds(database, defaults, log)();
      expect(await rows()).toEqual({ heartbeats: 0, tasks: 0 });
    } finally {
      await database.close();
    }
  });

  test("a worker continues an unfinished round at the next tick", async () => {
    const log = recordingLogger();
    const database = new Database({
      locate: async () => databaseAt(db.url),
      schema: "posthaste",
      autoMigrate: true,
      log,
    });
    try {
      await addManyEnded(db, 50_001, {
        sent: "now() - interval '70 days'",
        ended: "now() - interval '60 days'",
      });
      const tick = retentionRounds(database, defaults, log);
      await tick();
      expect(await rows()).toMatchObject({ tasks: 1 });
      await tick();
      expect(await rows()).toMatchObject({ tasks: 0 });
    } finally {
      await database.close();
    }
  });

  test("admin.prune deletes all old records at once, or counts them", async () => {
    await addEnded(db, [{ ago: "40 hours" }, { ago: "1 hour" }]);
    await addHeartbeats(db, ["25 hours"]);
    const { admin } = db.app({ recovery: { terminalRecordRetentionHours: 39 } });
    const counted = { heartbeats: 1, workerStates: 0, terminalRecords: 1, rollups: 0 };
    expect(await admin.prune({ dryRun: true })).toEqual(counted);
    expect(await rows()).toEqual({ heartbeats: 1, tasks: 2 });
    expect(await admin.prune()).toEqual(counted);
    expect(await rows()).toEqual({ heartbeats: 0, tasks: 1 });
    expect(await admin.prune()).toEqual({
      heartbeats: 0,
      workerStates: 0,
      terminalRecords: 0,
      rollups: 0,
    });
  });

  test("admin.prune refuses unknown options and deletes nothing", async () => {
    await addHeartbeats(db, ["25 hours"]);
    const { admin } = db.app();
    const wrong = { dryrun: true, dryRun: "yes" } as unknown as { dryRun: boolean };
    await expect(admin.prune(wrong)).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      problems: [
        { path: "", message: 'unknown option "dryrun"; did you mean "dryRun"?' },
        { path: "dryRun", message: 'expected true or false, found "yes"' },
      ],
    });
    expect(await rows()).toMatchObject({ heartbeats: 1 });
  });
});
