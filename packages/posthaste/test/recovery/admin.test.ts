/** `app.admin` lists workers and recoveries, and recovers the tasks of lost workers by hand. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defineTask, type Posthaste, type RecoveryResult } from "../../src/index.ts";
import { addActive, addOneActive, msFromNow, placesOf } from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { addWorker } from "./recovery-kit.ts";

const db = useDatabase();
useCleanTables(db);

const recovery = {
  runnerHeartbeatIntervalMs: 1_000,
  claimerHeartbeatIntervalMs: 1_000,
  runningStaleThresholdMs: 2_000,
  claimedStaleThresholdMs: 2_000,
};
let app: Posthaste;

beforeEach(async () => {
  app = db.app({ recovery, claimLeaseMs: 2_000 });
  await app.ensureSchema();
});

/** All rows of all tables that recovery may change. */
async function everything() {
  const tables = [
    "active_tasks",
    "ready_tasks",
    "finished_tasks",
    "attempts",
    "recoveries",
    "workers",
  ];
  return Promise.all(
    tables.map((table) =>
      db.sql(`select to_jsonb(t)::text as row from posthaste.${table} t order by 1`),
    ),
  );
}

describe("workers.list", () => {
  test("shows each worker with its task counts, and whether it is stale by the database's clock", async () => {
    const fresh = await addWorker(db, { silentMs: 100, loopBlockedMs: 42 });
    const silent = await addWorker(db, { silentMs: 300_000 });
    const stopped = await addWorker(db, { state: "stopped", silentMs: 300_000 });
    const dead = await addWorker(db, {
      state: "dead",
      silentMs: 300_000,
      missingMs: 0,
      diedMs: 10,
    });
    await addActive(db, [
      { workerId: fresh },
      { workerId: fresh },
      { workerId: fresh, status: "CLAIMED" },
    ]);
    const workers = await app.admin.workers.list({ staleAfterMs: 60_000 });
    const byId = Object.fromEntries(workers.map((worker) => [worker.id, worker]));
    expect(byId[fresh]).toEqual({
      id: fresh,
      name: "a worker",
      hostname: "a-host",
      pid: 4711,
      version: "1.2.3",
      queues: ["default"],
      taskNames: ["some-task"],
      metadata: {},
      concurrency: 5,
      state: "running",
      startedAt: expect.any(Date) as unknown,
      lastHeartbeatAt: expect.any(Date) as unknown,
      diedAt: null,
      isStale: false,
      loopBlockedMs: 42,
      running: 2,
      claimed: 1,
    });
    expect(byId[silent]).toMatchObject({ isStale: true, running: 0, claimed: 0 });
    expect(byId[stopped]).toMatchObject({ state: "stopped", isStale: false });
    expect(byId[dead]).toMatchObject({ state: "dead", isStale: false, diedAt: expect.any(Date) });
    // Workers that should be alive come first.
    expect(new Set(workers.slice(0, 2).map(({ id }) => id))).toEqual(new Set([fresh, silent]));
  });

  test("uses the threshold of the sweep when none is given", async () => {
    await addWorker(db, { silentMs: 299_000 });
    expect(await app.admin.workers.list()).toMatchObject([{ isStale: false }]);
    expect(await app.admin.workers.list({ staleAfterMs: 0 })).toMatchObject([{ isStale: true }]);
  });

  test("shows a real worker", async () => {
    const task = defineTask({ name: "any", run: () => null });
    const working = db.app({ tasks: [task] });
    const worker = await working.worker({ name: "me", concurrency: 3 }).start();
    expect(await app.admin.workers.list({ staleAfterMs: 10_000 })).toMatchObject([
      { id: worker.id, name: "me", pid: process.pid, concurrency: 3, isStale: false },
    ]);
  });
});

describe("sweepStaleWorkers", () => {
  test("requeues tasks after the delay and spends no retry, although worker recovery is not enabled", async () => {
    const workerId = await addWorker(db, { silentMs: 60_000 });
    const { id } = await addOneActive(db, { workerId, retryCount: 1, runs: 1 });
    const swept = await app.admin.sweepStaleWorkers({
      sweepThresholdMs: 1_000,
      recoveryDelayMs: 750,
    });
    expect(swept).toMatchObject({
      workerIds: [workerId],
      recoveredCount: 1,
      tasks: [
        { id, name: "some-task", status: "RUNNING", workerId, decision: "requeue", attempt: 2 },
      ],
    });
    const { ready } = await placesOf(db, id);
    expect(ready).toMatchObject({ retry_count: 1 });
    expect(msFromNow(ready?.["enqueued_at"])).toBeLessThanOrEqual(750);
    expect(await app.admin.recoveries.list()).toMatchObject([
      {
        taskId: id,
        recoveredBy: "admin",
        reason: "worker silent",
        decision: "requeue",
        attempt: 2,
      },
    ]);
    expect(await app.admin.workers.list()).toMatchObject([{ state: "dead" }]);
  });

  test("returns the decision for each task in a dry run, and changes nothing", async () => {
    const workerId = await addWorker(db, { silentMs: 60_000 });
    const idle = await addWorker(db, { silentMs: 60_000 });
    const [ran, claimed, failing, cancelled, late] = await addActive(db, [
      { workerId },
      { workerId, status: "CLAIMED" },
      { workerId, options: { onCrash: "fail" } },
      { workerId, isCancelRequested: true },
      { workerId, goodMs: 10_000 },
    ]);
    const before = await everything();
    const options = { sweepThresholdMs: 1_000, dryRun: true } as const;
    const planned = await app.admin.sweepStaleWorkers(options);
    expect(await everything()).toEqual(before);
    expect(new Set(planned.workerIds)).toEqual(new Set([workerId, idle]));
    expect(planned.recoveredCount).toBe(5);
    expect(new Map(planned.tasks.map(({ id, decision }) => [id, decision]))).toEqual(
      new Map([
        [ran?.id, "requeue"],
        [claimed?.id, "release"],
        [failing?.id, "fail"],
        [cancelled?.id, "cancel"],
        [late?.id, "fail"],
      ]),
    );
    const done = await app.admin.sweepStaleWorkers({ sweepThresholdMs: 1_000 });
    const decisions = (sweep: typeof done) => sweep.tasks.map(({ id, decision }) => [id, decision]);
    expect(decisions(done)).toEqual(decisions(planned));
    expect(new Set(done.workerIds)).toEqual(new Set(planned.workerIds));
  });

  test("uses the config of the call", async () => {
    const workerId = await addWorker(db, { silentMs: 2_500 });
    const [plain, long] = await addActive(db, [{ workerId }, { workerId, flags: { long: true } }]);
    const settings = { sweepThresholdMs: 1_000, resilientTaskFlags: ["long"] };
    const first = await app.admin.sweepStaleWorkers({ config: settings });
    expect(first.tasks).toMatchObject([{ id: plain?.id }]);
    const shorter = { ...settings, resilientSweepThresholdMultiplier: 2 };
    const second = await app.admin.sweepStaleWorkers({ config: shorter });
    expect(second.tasks).toMatchObject([{ id: long?.id, evidence: { thresholdMs: 2_000 } }]);
  });

  test("applies the retry policies of tasks if the config of the call is not enabled", async () => {
    const workerId = await addWorker(db, { silentMs: 60_000 });
    await addOneActive(db, { workerId });
    const config = { enabled: false, sweepThresholdMs: 1_000 };
    const swept = await app.admin.sweepStaleWorkers({ config });
    expect(swept.tasks).toMatchObject([{ decision: "fail" }]);
  });
});

describe("recovery by hand", () => {
  test("requeueStaleClaimed releases claims without a recent heartbeat, and claims whose lease has expired", async () => {
    const [stale, lapsed] = await addActive(db, [
      { status: "CLAIMED", heldMs: 10_000 },
      { status: "CLAIMED", leaseMs: -1 },
      { status: "CLAIMED", heldMs: 10 },
      { heldMs: 10_000 },
    ]);
    const before = await everything();
    const planned = await app.admin.requeueStaleClaimed({ dryRun: true });
    expect(await everything()).toEqual(before);
    expect(planned).toMatchObject({ recoveredCount: 2 });
    const done = await app.admin.requeueStaleClaimed();
    expect(done.tasks).toMatchObject([
      { id: stale?.id, reason: "claim stale", decision: "release" },
      { id: lapsed?.id, reason: "lease expired", decision: "release" },
    ]);
    expect(await db.sql("select from posthaste.ready_tasks")).toHaveLength(2);
  });

  test("recoverStaleRunning applies the onCrash rule of each task", async () => {
    const [failing, again] = await addActive(db, [
      { heldMs: 10_000 },
      { heldMs: 10_000, options: { onCrash: "requeue" } },
      { heldMs: 10 },
    ]);
    const before = await everything();
    expect(await app.admin.recoverStaleRunning({ dryRun: true })).toMatchObject({
      recoveredCount: 2,
    });
    expect(await everything()).toEqual(before);
    const done = await app.admin.recoverStaleRunning();
    expect(new Map(done.tasks.map(({ id, decision }) => [id, decision]))).toEqual(
      new Map([
        [failing?.id, "fail"],
        [again?.id, "requeue"],
      ]),
    );
    const [recoveries, ofOne] = await Promise.all([
      app.admin.recoveries.list({ limit: 1 }),
      app.admin.recoveries.list({ taskId: failing?.id.toUpperCase() ?? "" }),
    ]);
    expect(recoveries).toHaveLength(1);
    expect(ofOne).toMatchObject([
      {
        taskId: failing?.id,
        claimId: failing?.claimId,
        decision: "fail",
        dueAt: null,
        recoveredBy: "admin",
        evidence: { thresholdMs: 2_000 },
      },
    ]);
  });
});

describe("recovery by hand soon after a start or a promotion of the server", () => {
  const promotedNow = () => db.sql("update posthaste.server_timelines set seen_at = now()");
  afterEach(async () => {
    await db.sql("delete from posthaste.server_timelines");
    await db.sql(
      "insert into posthaste.server_timelines values (posthaste.current_timeline(), pg_postmaster_start_time())",
    );
  });
  const soonAfter = { sweepThresholdMs: 600_000 };
  const calls: [string, number, (options: object) => Promise<RecoveryResult>][] = [
    ["sweepStaleWorkers", 600_000, (o) => app.admin.sweepStaleWorkers({ ...soonAfter, ...o })],
    ["requeueStaleClaimed", 120_000, (o) => app.admin.requeueStaleClaimed(o)],
    ["recoverStaleRunning", 300_000, (o) => app.admin.recoverStaleRunning(o)],
  ];

  beforeEach(async () => {
    app = db.app();
    await app.ensureSchema();
    const workerId = await addWorker(db, { silentMs: 3_600_000 });
    await addActive(db, [
      { workerId, heldMs: 3_600_000 },
      { workerId, heldMs: 3_600_000, status: "CLAIMED" },
    ]);
  });

  test.each(calls)(
    "%s recovers nothing and returns the reason and its end; with force it recovers",
    async (name, thresholdMs, call) => {
      await promotedNow();
      const before = await everything();
      for (const dryRun of [true, false]) {
        const result = await call({ dryRun });
        expect(result).toMatchObject({ recoveredCount: 0, tasks: [] });
        expect(result.notJudged).toMatchObject({ reason: "server promoted" });
        const left = msFromNow(result.notJudged?.until?.toISOString());
        expect(left).toBeGreaterThan(thresholdMs - 60_000);
        expect(left).toBeLessThanOrEqual(thresholdMs);
      }
      expect(await everything()).toEqual(before);
      const count = name === "sweepStaleWorkers" ? 2 : 1;
      const planned = await call({ dryRun: true, force: true });
      expect(planned).toMatchObject({ recoveredCount: count, notJudged: null });
      expect(await everything()).toEqual(before);
      expect(await call({ force: true })).toMatchObject({ recoveredCount: count, notJudged: null });
    },
  );

  test('sweepStaleWorkers returns the reason "server started" if the server started after its promotion', async () => {
    const swept = await app.admin.sweepStaleWorkers({ sweepThresholdMs: 86_400_000 });
    expect(swept.notJudged).toMatchObject({ reason: "server started" });
  });

  test("sweepStaleWorkers returns a reason without an end if no worker has seen the promotion", async () => {
    await db.sql("delete from posthaste.server_timelines");
    const swept = await app.admin.sweepStaleWorkers({ sweepThresholdMs: 1 });
    expect(swept).toMatchObject({
      workerIds: [],
      notJudged: { reason: "server promoted", until: null },
    });
  });

  test("sweepStaleWorkers marks a worker without tasks dead only with force", async () => {
    const idle = await addWorker(db, { silentMs: 3_600_000 });
    await promotedNow();
    expect(await app.admin.sweepStaleWorkers(soonAfter)).toMatchObject({ workerIds: [] });
    const forced = await app.admin.sweepStaleWorkers({ ...soonAfter, force: true });
    expect(forced.workerIds).toContain(idle);
  });

  test("sweepStaleWorkers recovers tasks and returns no reason once the threshold has passed", async () => {
    const swept = await app.admin.sweepStaleWorkers({ sweepThresholdMs: 1 });
    expect(swept).toMatchObject({ recoveredCount: 2, notJudged: null });
  });
});

describe("wrong options are refused, with all problems at once, by", () => {
  test.each<[string, () => Promise<unknown>, string[]]>([
    [
      "sweepStaleWorkers",
      () =>
        app.admin.sweepStaleWorkers({
          sweepThresholdMs: 0,
          recoveryDelayMs: -1,
          dryRun: "yes",
          config: { sweepIntervalMs: 1, sweepTresholdMs: 5 },
        } as object),
      [
        'options.config: unknown option "sweepTresholdMs"; did you mean "sweepThresholdMs"?',
        "options.config.sweepIntervalMs: expected a whole number from 100 to 3600000, found 1",
        'options.dryRun: expected true or false, found "yes"',
        "options.sweepThresholdMs: expected a whole number from 1 to 86400000, found 0",
        "options.recoveryDelayMs: expected a whole number from 0 to 86400000, found -1",
      ],
    ],
    [
      "requeueStaleClaimed",
      () => app.admin.requeueStaleClaimed({ dryrun: true } as object),
      ['options: unknown option "dryrun"; did you mean "dryRun"?'],
    ],
    [
      "recoverStaleRunning",
      () => app.admin.recoverStaleRunning({ dryRun: 1 } as object),
      ["options.dryRun: expected true or false, found 1"],
    ],
    [
      "workers.list",
      () => app.admin.workers.list({ staleAfterMs: -1 }),
      ["options.staleAfterMs: expected a whole number of at least 0, found -1"],
    ],
    [
      "recoveries.list",
      () => app.admin.recoveries.list({ taskId: "x", limit: 0 }),
      [
        "options.limit: expected a whole number from 1 to 10000, found 0",
        'options.taskId: expected a UUID, found "x"',
      ],
    ],
  ])("%s", async (_, call, problems) => {
    const error = await call().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: "VALIDATION_FAILED" });
    const found = (error as { problems: { path: string; message: string }[] }).problems;
    expect(found.map(({ path, message }) => `${path}: ${message}`)).toEqual(problems);
  });
});
