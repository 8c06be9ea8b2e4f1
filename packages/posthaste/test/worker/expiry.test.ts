import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { defineTask, fail, fixed } from "../../src/index.ts";
import { databaseAt, readConfig } from "../../src/config/config.ts";
import { Database } from "../../src/database/database.ts";
import { hookRunner } from "../../src/hooks/hook-runner.ts";
import { runPasses } from "../../src/recovery/passes.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger, silentLogger } from "../support/loggers.ts";
import { SOON_MS } from "../support/soon.ts";

const db = useDatabase();
useCleanTables(db);

const ran: string[] = [];
const note = defineTask({
  name: "note",
  run: (text: string) => {
    ran.push(text);
    return text;
  },
});

const { recovery, workerRecovery } = readConfig({}, {}).config;
const defaults = { recovery, workerRecovery };

const past = () => new Date(Date.now() - 1_000);

async function onePass(logger = silentLogger) {
  const database = new Database({
    locate: async () => databaseAt(db.url),
    schema: "posthaste",
    autoMigrate: true,
    log: logger,
  });
  try {
    return await runPasses({
      database,
      ...defaults,
      workerId: randomUUID(),
      hooks: hookRunner({}, silentLogger),
      log: logger,
    });
  } finally {
    await database.close();
  }
}

test("one maintenance pass ends all unclaimed tasks past their goodUntil EXPIRED", async () => {
  const logger = recordingLogger();
  const app = db.app();
  const expired = await app.sendMany(note, ["a", "b"], { goodUntil: past(), queue: "unserved" });
  const alive = await app.send(note, "c", { goodUntil: new Date(Date.now() + 60_000) });
  expect(await onePass(logger)).toMatchObject({ expired: 2 });
  expect(await expired[0]?.info()).toMatchObject({
    status: "EXPIRED",
    errorCode: "TASK_EXPIRED",
    failedAt: expect.any(Date),
    claimedAt: null,
    attempts: [],
  });
  expect((await alive.info()).status).toBe("PENDING");
  await expect
    .poll(() => logger.lines)
    .toMatchObject([{ level: "warn", fields: { name: "note", queue: "unserved", count: 2 } }]);
});

test("one maintenance pass expires thousands of tasks, and the next expires and logs nothing", async () => {
  const app = db.app();
  await app.sendMany(
    note,
    Array.from({ length: 2_500 }, (_, n) => String(n)),
    { goodUntil: past(), queue: "unserved" },
  );
  expect(await onePass()).toMatchObject({ expired: 2_500 });
  const logger = recordingLogger();
  expect(await onePass(logger)).toMatchObject({ crashed: 0, expired: 0, released: 0 });
  expect(logger.lines).toEqual([]);
});

test("result() returns TASK_EXPIRED to a caller that waits for the task", async () => {
  const app = db.app();
  const goodUntil = new Date(Date.now() + 200);
  const handle = await app.send(note, "x", { goodUntil, queue: "unserved" });
  const waiting = handle.result({ timeoutMs: 30_000 });
  await expect.poll(async () => (await onePass()).expired).toBe(1);
  expect(await waiting).toMatchObject({ ok: false, error: { code: "TASK_EXPIRED" } });
});

test("every worker runs the maintenance pass", async () => {
  const app = db.app({ tasks: [note], recovery: { checkIntervalMs: 1_000 } });
  const handle = await app.send(note, "x", { goodUntil: past(), queue: "unserved" });
  await app.worker().start();
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "TASK_EXPIRED" },
  });
});

test("a claim ends an expired task at the head of the queue without an attempt, and takes the next task", async () => {
  ran.length = 0;
  const app = db.app({ tasks: [note] });
  const [late, fine] = await app.sendMany(note, [
    { input: "too late", goodUntil: past() },
    { input: "in time", goodUntil: new Date(Date.now() + 60_000) },
  ]);
  await app.worker({ concurrency: 1 }).start();
  expect(await fine?.value({ timeoutMs: 30_000 })).toBe("in time");
  expect(await late?.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "TASK_EXPIRED" },
  });
  expect(ran).toEqual(["in time"]);
  expect(await late?.info()).toMatchObject({ status: "EXPIRED", startedAt: null, attempts: [] });
});

test("a thousand expired tasks at the head of the queue do not delay the task behind them", async () => {
  const app = db.app({ tasks: [note] });
  await app.sendMany(
    note,
    Array.from({ length: 1_000 }, () => "late"),
    { goodUntil: past() },
  );
  const handle = await app.send(note, "behind");
  await app.worker({ concurrency: 2 }).start();
  expect(await handle.value({ timeoutMs: 30_000 })).toBe("behind");
});

test("a task that is due after its goodUntil expires when its goodUntil has passed", async () => {
  const app = db.app();
  // SQL may send such a task; `app.send` refuses it, because it could never run.
  const [sent] = await db.sql<{ id: string }>(
    `select posthaste.send('note', '"x"', run_at => now() + interval '1 hour',
                           good_until => now() + interval '100 ms') as id`,
  );
  const handle = app.task(note, sent?.id ?? "");
  await expect.poll(async () => (await onePass()).expired).toBe(1);
  expect((await handle.info()).status).toBe("EXPIRED");
});

test("a handler that began in time may end after goodUntil", async () => {
  const slow = defineTask({
    name: "slow",
    run: async (until: number) => {
      while (Date.now() <= until) await new Promise((resolve) => setTimeout(resolve, 10));
      return "done";
    },
  });
  const app = db.app({ tasks: [slow] });
  await app.worker().start();
  const until = Date.now() + 300;
  const handle = await app.send(slow, until, { goodUntil: new Date(until) });
  expect(await handle.value({ timeoutMs: 30_000 })).toBe("done");
});

test("a task whose retry could not start before goodUntil is not retried and FAILS with its own error", async () => {
  const busy = defineTask({
    name: "busy",
    errors: ["BUSY"],
    retry: fixed({ intervalsMs: [5_000], retryFor: ["BUSY"] }),
    run: () => fail("BUSY", "come back later"),
  });
  const app = db.app({ tasks: [busy] });
  await app.worker().start();
  const handle = await app.send(busy, undefined, { goodUntil: new Date(Date.now() + 2_000) });
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    ok: false,
    error: { code: "BUSY", message: "come back later" },
  });
  expect(await handle.info()).toMatchObject({
    status: "FAILED",
    retryCount: 0,
    attempts: [{ attempt: 1, outcome: "FAILED", willRetry: false }],
  });
});

describe("a task expires on time, before the next maintenance pass", () => {
  const rare = { recovery: { checkIntervalMs: 600_000 } };
  const soon = (ms: number) => new Date(Date.now() + ms);

  test("in a paused queue", async () => {
    const app = db.app({ tasks: [note], ...rare });
    await app.worker().start();
    await app.admin.queues.pause("default");
    const handles = await Promise.all([
      app.send(note, "short", { goodUntil: soon(500) }),
      app.send(note, "longer", { goodUntil: soon(4_000) }),
    ]);
    for (const handle of handles)
      expect(await handle.result({ timeoutMs: SOON_MS })).toMatchObject({
        error: { code: "TASK_EXPIRED" },
      });
  });

  test("in a queue that no worker serves", async () => {
    const app = db.app({ tasks: [note], ...rare });
    await app.worker().start();
    const handle = await app.send(note, "x", { queue: "unserved", goodUntil: soon(500) });
    expect(await handle.result({ timeoutMs: SOON_MS })).toMatchObject({
      error: { code: "TASK_EXPIRED" },
    });
  });
});
