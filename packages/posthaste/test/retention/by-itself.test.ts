/** Who prunes: every worker's maintenance pass, and operators. */
import { expect, test } from "vitest";
import { databaseAt } from "../../src/domain/config.ts";
import { Database } from "../../src/engine/database.ts";
import { retentionRounds } from "../../src/engine/prune.ts";
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

test("a worker deletes what is old by itself", async () => {
  await addEnded(db, [{ ago: "31 days" }, { ago: "1 day" }]);
  await addHeartbeats(db, ["25 hours", "1 hour"]);
  const logger = recordingLogger();
  const tasks = [defineTask({ name: "idle", run: () => null })];
  const app = db.app({ tasks, logger, recovery: { checkIntervalMs: 1_000 } });
  await app.worker().start();
  await expect.poll(rows).toEqual({ heartbeats: 1, tasks: 1 });
  await expect
    .poll(() => logger.lines.filter(({ message }) => message === "old records were deleted"))
    .toMatchObject([{ fields: { pruned: { heartbeats: 1, terminalRecords: 1 } } }]);
});

test("heartbeats at every tick, the rest once an hour", async () => {
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
    // Who has just started does not know that somebody else was there a moment ago.
    await retentionRounds(database, defaults, log)();
    expect(await rows()).toEqual({ heartbeats: 0, tasks: 0 });
  } finally {
    await database.close();
  }
});

test("what a round did not get to is for the next tick, not for the next hour", async () => {
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

test("an operator deletes all of it at once, or asks how much it is", async () => {
  await addEnded(db, [{ ago: "40 hours" }, { ago: "1 hour" }]);
  await addHeartbeats(db, ["25 hours"]);
  const { admin } = db.app({ recovery: { terminalRecordRetentionHours: 39 } });
  const counted = { heartbeats: 1, workerStates: 0, terminalRecords: 1 };
  expect(await admin.prune({ dryRun: true })).toEqual(counted);
  expect(await rows()).toEqual({ heartbeats: 1, tasks: 2 });
  expect(await admin.prune()).toEqual(counted);
  expect(await rows()).toEqual({ heartbeats: 0, tasks: 1 });
  expect(await admin.prune()).toEqual({ heartbeats: 0, workerStates: 0, terminalRecords: 0 });
});

test("who says something else is told what may be said, and nothing is deleted", async () => {
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
