import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { z } from "zod";
import { databaseAt, readConfig } from "../../src/config/config.ts";
import { Database } from "../../src/database/database.ts";
import { defineTask, fail, fixed, TaskError } from "../../src/index.ts";
import { hookRunner } from "../../src/hooks/hook-runner.ts";
import { runPasses } from "../../src/recovery/passes.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";
import { addActive } from "../store/task-rows.ts";

const db = useDatabase();
useCleanTables(db);

/** Rows of the worker's error table: the case, its handler, and the code that the task fails with. */
const rows = [
  [
    "a task that returns an error is FAILED with its code",
    () => fail("OUT_OF_STOCK"),
    "OUT_OF_STOCK",
  ],
  [
    "a task that throws a TaskError is FAILED with its code",
    () => {
      throw new TaskError("OUT_OF_STOCK", "none left");
    },
    "OUT_OF_STOCK",
  ],
  [
    "a panic in a task is caught and wrapped as UNHANDLED_ERROR",
    () => {
      throw new TypeError("undefined is not a function");
    },
    "UNHANDLED_ERROR",
  ],
  [
    "a panic in an async task is caught and wrapped as UNHANDLED_ERROR",
    async () => {
      await Promise.resolve();
      throw new RangeError("too deep");
    },
    "UNHANDLED_ERROR",
  ],
  [
    "a value that cannot be serialised is WORKER_SERIALIZATION_ERROR",
    () => ({ total: 5n }),
    "WORKER_SERIALIZATION_ERROR",
  ],
] as const;

test.each(rows)("%s", async (_, run, code) => {
  const task = defineTask({ name: "row", errors: ["OUT_OF_STOCK"], run: run as () => null });
  const app = db.app({ tasks: [task] });
  await app.worker().start();
  const handle = await app.send(task);
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({ ok: false, error: { code } });
  expect(await handle.info()).toMatchObject({ status: "FAILED", errorCode: code });
  // The worker continues with the next task.
  const next = await app.send(task);
  expect(await next.result({ timeoutMs: 30_000 })).toMatchObject({ error: { code } });
});

test("an input that its schema refuses is ARGUMENT_TYPE_MISMATCH, and the handler does not run", async () => {
  const task = defineTask({ name: "row", input: z.object({ n: z.number() }), run: () => "never" });
  const app = db.app({ tasks: [task] });
  const [sent] = await db.sql<{ id: string }>(`select posthaste.send('row', '{"n": "x"}') as id`);
  await app.worker().start();
  const handle = app.task(task, sent?.id ?? "");
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "ARGUMENT_TYPE_MISMATCH" },
  });
  expect((await handle.info()).attempts).toEqual([]);
});

test("a task that is not in the registry is WORKER_RESOLUTION_ERROR", async () => {
  const unknown = defineTask({ name: "nobody-knows-it", run: () => null });
  const known = defineTask({ name: "known", run: () => null });
  const app = db.app({ tasks: [known], unknownTasks: "fail" });
  await app.worker().start();
  const handle = await app.send(unknown);
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject({
    error: { code: "WORKER_RESOLUTION_ERROR" },
  });
  expect(await handle.info()).toMatchObject({ status: "FAILED", attempts: [] });
});

const { recovery, workerRecovery } = readConfig(
  { recovery: { runningStaleThresholdMs: 60_000, claimedStaleThresholdMs: 60_000 } },
  {},
).config;

async function onePass(over: Partial<typeof recovery> = {}) {
  const database = new Database({
    locate: async () => databaseAt(db.url),
    schema: "posthaste",
    autoMigrate: true,
    log: silentLogger,
  });
  try {
    return await runPasses({
      database,
      recovery: { ...recovery, ...over },
      workerRecovery,
      workerId: randomUUID(),
      hooks: hookRunner({}, silentLogger),
      log: silentLogger,
    });
  } finally {
    await database.close();
  }
}

test("the reaper fails a running task with stale heartbeats with WORKER_CRASHED", async () => {
  const [stale, fresh] = await addActive(db, [
    { status: "RUNNING", heldMs: 10_000 },
    { status: "RUNNING", heldMs: 1_000 },
  ]);
  const threshold = { runningStaleThresholdMs: 2_000 };
  expect(await onePass(threshold)).toMatchObject({ recovered: 1 });
  const app = db.app();
  const task = defineTask({ name: "any", run: () => null });
  expect(await app.task(task, stale?.id ?? "").info()).toMatchObject({
    status: "FAILED",
    errorCode: "WORKER_CRASHED",
    attempts: [{ attempt: 1, outcome: "FAILED", error: { data: { thresholdMs: 2_000 } } }],
  });
  expect((await app.task(task, fresh?.id ?? "").info()).status).toBe("RUNNING");
});

test("the reaper retries a task with stale heartbeats if its retry policy lists WORKER_CRASHED and retries remain", async () => {
  const retry = fixed({ intervalsMs: [60_000], retryFor: ["WORKER_CRASHED"] });
  const [retried, spent] = await addActive(db, [
    { heldMs: 10_000, options: { retry } },
    { heldMs: 10_000, options: { retry }, retryCount: 1, runs: 1 },
  ]);
  expect(await onePass({ runningStaleThresholdMs: 2_000 })).toMatchObject({ recovered: 2 });
  const app = db.app();
  const task = defineTask({ name: "any", run: () => null });
  expect(await app.task(task, retried?.id ?? "").info()).toMatchObject({
    status: "PENDING",
    retryCount: 1,
    nextRetryAt: expect.any(Date),
    attempts: [{ outcome: "WORKER_FAILURE", errorCode: "WORKER_CRASHED" }],
  });
  expect((await app.task(task, spent?.id ?? "").info()).status).toBe("FAILED");
});

test("the reaper returns a claimed task of a crashed worker to its place in the queue, with no attempt counted", async () => {
  const [stale] = await addActive(db, [{ status: "CLAIMED", heldMs: 10_000 }]);
  expect(await onePass({ claimedStaleThresholdMs: 2_000 })).toMatchObject({ released: 1 });
  const task = defineTask({ name: "any", run: () => null });
  expect(
    await db
      .app()
      .task(task, stale?.id ?? "")
      .info(),
  ).toMatchObject({
    status: "PENDING",
    retryCount: 0,
    attempts: [],
  });
});

test("autoFailStaleRunning and autoRequeueStaleClaimed can be turned off", async () => {
  await addActive(db, [
    { status: "RUNNING", heldMs: 10_000 },
    { status: "CLAIMED", heldMs: 10_000 },
  ]);
  const off = { autoFailStaleRunning: false, autoRequeueStaleClaimed: false };
  const low = { runningStaleThresholdMs: 2_000, claimedStaleThresholdMs: 2_000 };
  expect(await onePass({ ...low, ...off })).toEqual({
    crashed: 0,
    expired: 0,
    unknown: 0,
    released: 0,
    recovered: 0,
  });
});
