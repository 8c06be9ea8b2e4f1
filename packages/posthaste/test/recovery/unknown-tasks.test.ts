/** A task whose name no worker knows fails after the grace, or waits. */
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { defineTask, defineWorkflow } from "../../src/index.ts";
import { hookRunner } from "../../src/hooks/hook-runner.ts";
import { unknownTaskRounds } from "../../src/recovery/unknown-tasks.ts";
import { runPasses } from "../../src/recovery/passes.ts";
import { explain, prepare } from "../plans/explain.ts";
import { addOneReady } from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger, silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { addWorker, useRecovery, type WorkerSeed } from "./recovery-kit.ts";

const db = useDatabase();
useCleanTables(db);
const kit = useRecovery(db);
vi.setConfig({ testTimeout: 60_000 });

const MINUTE = 60_000;
const graceMs = 5 * MINUTE;
const known = defineTask({ name: "known", run: () => "done" });
const unknown = defineTask({ name: "unknown" });

beforeEach(() => db.sql("truncate posthaste.workers, posthaste.queues"));

function rounds(over: Partial<Parameters<typeof unknownTaskRounds>[0]> = {}) {
  const hooks = hookRunner({}, silentLogger);
  const { database } = kit;
  return unknownTaskRounds({
    database,
    hooks,
    log: silentLogger,
    workerId: randomUUID(),
    graceMs,
    ...over,
  });
}

async function statusOf(id: string): Promise<string | undefined> {
  const [row] = await db.sql<{ status: string }>(
    "select status from posthaste.tasks where id = $1",
    [id],
  );
  return row?.status;
}

test("a task with a name that no worker ever listed fails, with a log line, a hook and a result", async () => {
  await addWorker(db);
  const id = await addOneReady(db, { name: "unknown", dueMs: -6 * MINUTE });
  const log = recordingLogger();
  const failed: string[] = [];
  const hooks = hookRunner({ taskFailed: [(event) => void failed.push(event.id)] }, silentLogger);
  expect(await rounds({ log, hooks })()).toBe(1);
  expect(await db.app().task(unknown, id).result()).toMatchObject({
    error: {
      code: "WORKER_RESOLUTION_ERROR",
      message: 'no worker has ever had a handler for a task named "unknown"',
    },
  });
  await waitUntil("the hook was told", () => failed.includes(id));
  expect(log.lines).toMatchObject([
    {
      level: "error",
      message: "tasks failed; no worker has ever had a handler for their name",
      fields: { name: "unknown", queue: "default", code: "WORKER_RESOLUTION_ERROR", count: 1 },
    },
  ]);
});

const OLD: WorkerSeed = {};
const waits: [why: string, workers: WorkerSeed[], task: { dueMs?: number; queue?: string }][] = [
  ["no worker lives", [], {}],
  ["the worker has not served the queue for the grace", [{ startedMs: 4 * MINUTE }], {}],
  ["the only worker is dead", [{ state: "dead" }], {}],
  ["the only worker is silent", [{ silentMs: 6 * MINUTE }], {}],
  ["no worker serves its queue", [OLD], { queue: "elsewhere" }],
  ["it has not been due for the grace", [OLD], { dueMs: -4 * MINUTE }],
  ["it is not due", [OLD], { dueMs: MINUTE }],
  ["a dead worker once listed the name", [OLD, { state: "dead", taskNames: ["unknown"] }], {}],
  ["a new worker lists the name", [OLD, { startedMs: 0, taskNames: ["unknown"] }], {}],
];

test.each(waits)("a task with an unknown name waits while %s", async (_, workers, task) => {
  for (const worker of workers) await addWorker(db, worker);
  const id = await addOneReady(db, { name: "unknown", dueMs: -6 * MINUTE, ...task });
  expect(await rounds()()).toBe(0);
  expect(await statusOf(id)).toBe("PENDING");
});

test("a task with an unknown name waits while its queue is paused, and in rounds that do not judge silence", async () => {
  await addWorker(db);
  const id = await addOneReady(db, { name: "unknown", dueMs: -6 * MINUTE });
  await db.app().admin.queues.pause("default");
  expect(await rounds()()).toBe(0);
  await db.app().admin.queues.resume("default");
  const options = kit.reaper({ endUnknown: rounds() });
  expect(await runPasses(options, { judgesSilence: false })).toMatchObject({ unknown: 0 });
  expect(await statusOf(id)).toBe("PENDING");
  expect(await runPasses(options)).toMatchObject({ unknown: 1 });
});

test("a task with an unknown name fails also if it has returned to its queue after an attempt", async () => {
  await addWorker(db);
  const id = await addOneReady(db, { name: "unknown", dueMs: -6 * MINUTE, runs: 1 });
  expect(await rounds()()).toBe(1);
  expect(await statusOf(id)).toBe("FAILED");
});

test("tasks with a name that a worker once listed are logged once, with their count, and reported by check()", async () => {
  const waiting = defineTask({ name: "gone", run: () => null });
  await addWorker(db);
  await addWorker(db, { state: "dead", taskNames: ["gone"] });
  for (let n = 0; n < 3; n++) await addOneReady(db, { name: "gone", dueMs: -6 * MINUTE });
  const log = recordingLogger();
  const round = rounds({ log });
  expect([await round(), await round()]).toEqual([0, 0]);
  expect(log.lines).toMatchObject([
    { level: "warn", fields: { name: "gone", queue: "default", count: 3 } },
  ]);
  expect(await db.app({ tasks: [waiting] }).check({ live: true })).toEqual([
    {
      path: "queues.default",
      message: expect.stringMatching(/^3 tasks named "gone" waited for more than 300000 ms/),
    },
  ]);
  await addWorker(db, { taskNames: ["gone"] });
  expect(await db.app({ tasks: [waiting] }).check({ live: true })).toEqual([]);
});

test("a run advances when its node with an unknown task name fails", async () => {
  const workflow = defineWorkflow({
    name: "half known",
    build: (flow) => flow.node("a", unknown, undefined).output,
  });
  const app = db.app({ tasks: [known], workflows: [workflow] });
  const run = await app.start(workflow, undefined);
  await addWorker(db);
  const round = rounds({ graceMs: 10 });
  await waitUntil("the node was ended", async () => (await round()) === 1);
  expect(await run.result({ timeoutMs: 30_000 })).toMatchObject({
    ok: false,
    error: { data: { node: "a", error: { code: "WORKER_RESOLUTION_ERROR" } } },
  });
});

test("a worker fails a task with an unknown name by itself", async () => {
  const app = db.app({
    tasks: [known],
    unknownTaskGraceMs: 1_000,
    recovery: { checkIntervalMs: 1_000 },
  });
  await app.worker().start();
  const handle = await app.send(unknown);
  expect(await handle.result({ timeoutMs: 50_000 })).toMatchObject({
    error: { code: "WORKER_RESOLUTION_ERROR" },
  });
});

describe("the search for unknown names among 60,000 rows", () => {
  /** Adds, in queue order: 30,000 known tasks, one unknown task, and 30,000 known tasks that are not due. */
  async function fill(): Promise<string> {
    await addWorker(db, { taskNames: ["known"] });
    await db.sql(`
      with sent as (
        insert into posthaste.submissions (task_id, name, queue, priority, input, sent_at, run_at)
        select gen_random_uuid(), 'known', 'default', 100, '1', now() - interval '2 hours',
               case when n % 2 = 0 then now() - interval '1 hour' else now() + interval '1 day' end
          from generate_series(1, 60000) as n
        returning *
      )
      insert into posthaste.ready_tasks (task_id, queue, priority, enqueued_at)
      select task_id, queue, priority, run_at from sent;
      analyze posthaste.submissions; analyze posthaste.ready_tasks`);
    return addOneReady(db, { name: "unknown", dueMs: -6 * MINUTE });
  }

  test("reads a page in each round, continues behind it in the next, and restarts after the last page", async () => {
    const id = await fill();
    const round = rounds();
    const ended: number[] = [];
    for (let n = 0; n < 4; n++) ended.push(await round());
    expect(ended).toEqual([0, 0, 0, 1]);
    expect(await statusOf(id)).toBe("FAILED");
    const again = await addOneReady(db, { name: "unknown", dueMs: -6 * MINUTE });
    for (let n = 0; n < 5 && (await statusOf(again)) === "PENDING"; n++) await round();
    expect(await statusOf(again)).toBe("FAILED");
  });

  test("reads its page by the index, and no row that is not due", async () => {
    await fill();
    const connection = await db.connect("reads");
    const search = { graceMs, limit: 1_000, after: undefined };
    const first = await db.store.unknownTasks.find(connection, search);
    for (const after of [undefined, first.next]) {
      const prepared = await prepare(
        connection,
        (recorder) => db.store.unknownTasks.find(recorder, { ...search, after }),
        7,
      );
      const plan = await explain(connection, prepared);
      expect(plan.scannedTables.filter((table) => table !== "workers")).toEqual([]);
      expect(plan.indexes).toEqual(
        expect.arrayContaining(["ready_tasks_claim_idx", "submissions_pkey"]),
      );
      const inLine = plan.nodes.filter((node) => node["Relation Name"] === "ready_tasks");
      const met = inLine.map((node) => (node["Actual Rows"] ?? 0) * (node["Actual Loops"] ?? 1));
      expect(Math.max(...met)).toBeLessThanOrEqual(1_010);
      expect(plan.rowsRead).toBeLessThan(2_100);
    }
  });
});
