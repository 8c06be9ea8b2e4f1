import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { addOneActive, addOneReady } from "./task-rows.ts";

const db = useDatabase();

const broken = { code: "BROKEN", error: '{"code":"BROKEN","message":"it broke"}' };

async function attemptsOf(id: string) {
  return (await db.store.readTask(await db.connect("reads"), id))?.attempts;
}

describe("readTask", () => {
  test("reads all fields of a pending task", async () => {
    const id = await addOneReady(db, {
      name: "greet",
      queue: "mail",
      priority: 7,
      goodMs: 60_000,
      runs: 1,
      retryCount: 1,
    });

    const row = await db.store.readTask(await db.connect("reads"), id);

    expect(row).toMatchObject({
      id,
      name: "greet",
      queue: "mail",
      priority: 7,
      status: "PENDING",
      claimedAt: null,
      startedAt: null,
      completedAt: null,
      failedAt: null,
      cancelledAt: null,
      attemptNo: 1,
      retryCount: 1,
      errorCode: null,
      workerId: null,
      workerName: null,
    });
    expect(row?.sentAt).toBeInstanceOf(Date);
    expect(row?.goodUntil?.getTime()).toBeGreaterThan(Date.now());
  });

  test("reads a running task with its worker", async () => {
    const workerId = randomUUID();
    const connection = await db.connect("reads");
    await db.store.registerWorker.register(connection, {
      workerId,
      name: "worker-1",
      hostname: "a-host",
      pid: 4711,
      version: "1.2.3",
      queues: ["default"],
      taskNames: ["some-task"],
      concurrency: 5,
      livenessKey: null,
      metadata: {},
      config: {},
    });
    const { id } = await addOneActive(db, { workerId });

    expect(await db.store.readTask(connection, id)).toMatchObject({
      status: "RUNNING",
      workerId,
      workerName: "worker-1",
      workerHostname: "a-host",
      workerPid: 4711,
    });
  });

  test("reads a task whose worker is no longer registered", async () => {
    const { id } = await addOneActive(db);

    const row = await db.store.readTask(await db.connect("reads"), id);

    expect(row).toMatchObject({ id, workerName: null });
    expect(row?.workerId).not.toBeNull();
  });

  test("returns nothing for an id that was never sent", async () => {
    expect(await db.store.readTask(await db.connect("reads"), randomUUID())).toBeUndefined();
  });

  test("lists the earlier attempts, then the running one", async () => {
    const { id } = await addOneActive(db, { runs: 2 });

    const attempts = await attemptsOf(id);

    expect(attempts).toMatchObject([
      { attempt: 1, outcome: "FAILED", willRetry: true, errorCode: "EARLIER" },
      { attempt: 2, outcome: "FAILED", willRetry: true, errorCode: "EARLIER" },
      { attempt: 3, outcome: "RUNNING", willRetry: false, finishedAt: null, error: null },
    ]);
  });

  test("shows the end of the task in its last attempt", async () => {
    const claim = await addOneActive(db, { runs: 1 });
    await db.store.settleTasks(await db.connect(), [
      { ...claim, edge: "fail", ran: true, ...broken },
    ]);

    const attempts = await attemptsOf(claim.id);

    expect(attempts).toHaveLength(2);
    expect(attempts?.[1]).toMatchObject({
      attempt: 2,
      outcome: "FAILED",
      willRetry: false,
      errorCode: "BROKEN",
      error: { message: "it broke" },
    });
    expect(attempts?.[1]?.finishedAt).toBeInstanceOf(Date);
  });

  test("counts no attempt for a claim whose handler did not begin", async () => {
    const claimed = await addOneActive(db, { status: "CLAIMED" });
    const failed = await addOneActive(db);
    await db.store.settleTasks(await db.connect(), [
      { ...failed, edge: "fail", ran: false, ...broken },
    ]);

    expect(await attemptsOf(claimed.id)).toEqual([]);
    expect(await attemptsOf(failed.id)).toEqual([]);
  });
});
