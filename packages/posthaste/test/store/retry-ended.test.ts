/** The edge from an end back to its queue: retry_tasks() and retry(), as rows. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { addActive, addOneActive, addOneReady, newQueue, placesOf } from "./task-rows.ts";

const db = useDatabase();

const broken = { code: "BROKEN", error: '{"code":"BROKEN","message":"it broke"}' };

async function retry(id: string, goodUntil: Date | null = null, by: string | null = null) {
  const [row] = await db.sql<{ answer: string | null }>(
    "select posthaste.retry($1, $2, $3) as answer",
    [id, goodUntil, by],
  );
  return row?.answer;
}

async function retriesOf(id: string) {
  return db.sql(
    `select status, error_code, error ->> 'message' as message, attempt_no, retried_by, claim_id, good_until
       from posthaste.task_retries where task_id = $1 order by id`,
    [id],
  );
}

/** A task whose second attempt failed for good. */
async function addFailed(queue = newQueue()) {
  const claim = await addOneActive(db, { queue, runs: 1, retryCount: 1, crashCount: 2 });
  await db.store.settleTasks(await db.connect(), [
    { ...claim, edge: "fail", ran: true, ...broken },
  ]);
  return claim;
}

async function claimOne(queue: string) {
  const { tasks } = await db.store.claimAndStart(await db.connect(), {
    lanes: [{ queue, priority: 100, mark: -Infinity }],
    limit: 5,
    workerId: randomUUID(),
    leaseMs: 1_000,
  });
  return tasks;
}

describe("retry of an ended task", () => {
  test("moves a FAILED task to its queue, its last attempt to the history, and writes down the end", async () => {
    const { id, claimId } = await addFailed();

    expect(await retry(id, null, "ann")).toBe("retried");

    const { ready, active, finished, attempts } = await placesOf(db, id);
    expect({ active, finished }).toEqual({ active: null, finished: null });
    expect(ready).toMatchObject({ attempt_no: 2, retry_count: null, crash_count: null });
    expect(attempts).toMatchObject([
      { attempt_no: 1, ended_task: null },
      {
        attempt_no: 2,
        outcome: "FAILED",
        error_code: "BROKEN",
        claim_id: claimId,
        ended_task: true,
      },
    ]);
    expect(await retriesOf(id)).toEqual([
      {
        status: "FAILED",
        error_code: "BROKEN",
        message: "it broke",
        attempt_no: 2,
        retried_by: "ann",
        claim_id: claimId,
        good_until: null,
      },
    ]);
  });

  test("is claimed as the next attempt, with its stored input", async () => {
    const queue = newQueue();
    const { id } = await addFailed(queue);
    await retry(id);

    expect(await claimOne(queue)).toMatchObject([{ id, attemptNo: 3, input: "{}" }]);
  });

  test("keeps no attempt of a task that ended before a handler ran", async () => {
    const id = await addOneReady(db);
    await db.sql("select posthaste.cancel($1)", [id]);

    expect(await retry(id)).toBe("retried");

    expect(await placesOf(db, id)).toMatchObject({ ready: { attempt_no: 0 }, attempts: [] });
    expect(await retriesOf(id)).toMatchObject([{ status: "CANCELLED", attempt_no: 0 }]);
  });

  test("keeps the attempt of a task that was cancelled while it ran", async () => {
    const claim = await addOneActive(db, { isCancelRequested: true });
    await db.store.settleTasks(await db.connect(), [{ ...claim, edge: "succeed", ran: true }]);

    expect(await retry(claim.id)).toBe("retried");

    expect((await placesOf(db, claim.id)).attempts).toMatchObject([{ outcome: "CANCELLED" }]);
  });

  test("keeps the attempt of a running task that psql failed, without the claim that did not end it", async () => {
    const { id } = await addOneActive(db);
    await db.sql("select posthaste.fail($1, 'OPERATOR')", [id]);

    expect(await retry(id)).toBe("retried");

    expect((await placesOf(db, id)).attempts).toMatchObject([
      { outcome: "FAILED", claim_id: null },
    ]);
  });

  test("needs a new deadline for an EXPIRED task, and shows it", async () => {
    const id = await addOneReady(db, { goodMs: -1_000 });
    await db.store.expireTasks(await db.connect(), 100);

    await expect(retry(id)).rejects.toThrow("the deadline of task");
    const goodUntil = new Date(Date.now() + 60_000);
    expect(await retry(id, goodUntil)).toBe("retried");

    const row = await db.store.readTask(await db.connect("reads"), id);
    expect(row).toMatchObject({ status: "PENDING", goodUntil });
    // The submission never changes: a later retry still knows the deadline of this one.
    await db.sql("select posthaste.cancel($1)", [id]);
    expect((await db.store.readTask(await db.connect("reads"), id))?.goodUntil).toEqual(goodUntil);
    expect(await retry(id)).toBe("retried");
    expect(await placesOf(db, id)).toMatchObject({ ready: { good_until: expect.any(String) } });
  });

  test("needs a new deadline for a FAILED task whose deadline has passed", async () => {
    const claim = await addOneActive(db, { goodMs: -1, heldMs: 5_000 });
    await db.store.settleTasks(await db.connect(), [
      { ...claim, edge: "fail", ran: true, ...broken },
    ]);
    // As if it had started in time.
    await db.sql("update posthaste.finished_tasks set retry_count = 1 where task_id = $1", [
      claim.id,
    ]);

    await expect(retry(claim.id)).rejects.toThrow("the deadline of task");
    await expect(retry(claim.id, new Date(Date.now() - 1))).rejects.toThrow("the deadline of task");
    expect(await retry(claim.id, new Date(Date.now() + 60_000))).toBe("retried");
  });

  test("refuses COMPLETED, and leaves alone what has not ended or is not there", async () => {
    const [done, running] = await addActive(db, [{}, {}]);
    const waiting = await addOneReady(db);
    if (done === undefined || running === undefined) throw new Error("two were asked for");
    await db.store.settleTasks(await db.connect(), [{ ...done, edge: "succeed", ran: true }]);

    await expect(retry(done.id)).rejects.toThrow("is COMPLETED and never runs again");
    expect(await retry(running.id)).toBe("unfinished");
    expect(await retry(waiting)).toBe("unfinished");
    expect(await retry(randomUUID())).toBeNull();
    expect(await retriesOf(running.id)).toEqual([]);
  });

  test("makes one series when two operators retry at once", async () => {
    const claims = await addActive(db, [{}, {}, {}]);
    const ids = claims.map(({ id }) => id);
    await db.store.settleTasks(
      await db.connect(),
      claims.map((claim) => ({ ...claim, edge: "fail", ran: true, ...broken })),
    );
    const operators = await Promise.all([db.connect(), db.connect()]);
    const answers = await Promise.all(
      operators.map(async (each) => {
        const { id: action } = await db.store.operatorActions.begin(each, {
          action: "retry tasks",
        });
        return db.store.retryTasks(each, { ids, goodUntil: null, action });
      }),
    );

    for (const id of ids) {
      const ofTask = answers.flat().filter((each) => each.id === id);
      expect(ofTask).toHaveLength(2);
      expect(new Set(ofTask.map(({ answer }) => answer))).toEqual(
        new Set(["retried", "unfinished"]),
      );
      expect(await retriesOf(id)).toHaveLength(1);
    }
  });

  test("a late end of the old claim changes nothing, and its worker learns what it had written", async () => {
    const queue = newQueue();
    const claim = await addFailed(queue);
    await retry(claim.id);
    const connection = await db.connect();

    const late = await db.store.settleTasks(connection, [
      { ...claim, edge: "succeed", ran: true, result: "1" },
    ]);
    expect(late.settled).toBe(0);
    // FAILED, not PENDING: it did not write a retry.
    expect(await db.store.findOwnCommits(connection, [claim])).toEqual(
      new Map([[claim.id, "FAILED"]]),
    );

    const [second] = await claimOne(queue);
    if (second === undefined) throw new Error("it was due");
    expect(
      (await db.store.settleTasks(connection, [{ ...claim, edge: "fail", ran: true, ...broken }]))
        .settled,
    ).toBe(0);
    expect(await db.store.findOwnCommits(connection, [second])).toEqual(new Map());
    await db.store.settleTasks(connection, [
      { ...second, edge: "succeed", ran: true, result: "2" },
    ]);
    expect(await placesOf(db, claim.id)).toMatchObject({
      finished: { status: "COMPLETED", result: 2 },
    });
  });
});

describe("an end other than COMPLETED", () => {
  test("stores name and queue; COMPLETED stores neither", async () => {
    const queue = newQueue();
    const seed = { queue, name: "greet" };
    const [failed, done, cancelled, byPsql] = await addActive(db, [
      seed,
      seed,
      { ...seed, isCancelRequested: true },
      seed,
    ]);
    if (!failed || !done || !cancelled || !byPsql) throw new Error("four were asked for");
    const connection = await db.connect();
    await db.store.settleTasks(connection, [{ ...failed, edge: "fail", ran: true, ...broken }]);
    await db.store.settleTasks(connection, [
      { ...done, edge: "succeed", ran: true },
      { ...cancelled, edge: "succeed", ran: true },
    ]);
    await db.sql("select posthaste.fail($1, 'OPERATOR')", [byPsql.id]);
    const late = await addOneReady(db, { ...seed, goodMs: -1 });
    await db.store.expireTasks(connection, 100);

    const rows = await db.sql(
      "select task_id, name, queue from posthaste.finished_tasks where task_id = any ($1)",
      [[failed.id, done.id, cancelled.id, byPsql.id, late]],
    );
    const named = { name: "greet", queue };
    expect(new Map(rows.map(({ task_id: id, ...names }) => [id, names]))).toEqual(
      new Map<unknown, unknown>([
        [failed.id, named],
        [cancelled.id, named],
        [byPsql.id, named],
        [late, named],
        [done.id, { name: null, queue: null }],
      ]),
    );
  });

  test("costs a completed task no byte of the log", async () => {
    await db.sql(`
      create table as_before as
        select task_id, claim_id, worker_id, enqueued_at, claimed_at, started_at, finished_at, cancel_requested_at, attempt_no,
               retry_count, crash_count, status, error_code, result, error
          from posthaste.finished_tasks limit 0;
      create unique index on as_before (task_id);
      create index on as_before (finished_at) where task_id >= '04000000-0000-0000-0000-000000000000'`);
    const bytes = async (table: string, id: string): Promise<number> => {
      const [row] = await db.sql<{ "QUERY PLAN": [{ Plan: { "WAL Bytes": number } }] }>(
        `explain (analyze, wal, format json)
         insert into ${table} (task_id, claim_id, worker_id, started_at, finished_at, result)
         values ('${id}', '${id}', '${id}', now(), now(), '1')`,
      );
      return row?.["QUERY PLAN"][0].Plan["WAL Bytes"] ?? 0;
    };
    const idOf = (n: number): string => `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;
    for (const table of ["posthaste.finished_tasks", "as_before"]) await bytes(table, idOf(1));

    expect(await bytes("posthaste.finished_tasks", idOf(2))).toBe(
      await bytes("as_before", idOf(2)),
    );
    await db.sql("drop table as_before");
    await db.sql("delete from posthaste.finished_tasks where task_id = any ($1)", [
      [idOf(1), idOf(2)],
    ]);
  });
});
