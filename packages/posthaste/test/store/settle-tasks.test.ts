import { describe, expect, test } from "vitest";
import type { TaskEnd } from "../../src/store/queries/settle/settle-tasks.ts";
import { useDatabase } from "../support/database.ts";
import { addOneActive, msFromNow, placesOf, type Claim } from "./task-rows.ts";

const db = useDatabase();

const broken = { code: "BROKEN", error: '{"code":"BROKEN","message":"it broke"}' };
const brokenError = { code: "BROKEN", message: "it broke" };

async function settle(claim: Claim, how: Omit<TaskEnd, "id" | "claimId">) {
  return db.store.settleTasks(await db.connect(), [{ ...claim, ...how }]);
}

const asAsked = { settled: 1, overridden: [] };

describe("settleTasks", () => {
  test("succeed: ends a running task COMPLETED with its result and its claim id", async () => {
    const claim = await addOneActive(db, { runs: 1, retryCount: 1, isFetchedAhead: true });
    const before = (await placesOf(db, claim.id)).active;

    expect(await settle(claim, { edge: "succeed", ran: true, result: '{"n": 1}' })).toEqual(
      asAsked,
    );

    const { ready, active, finished, attempts } = await placesOf(db, claim.id);
    expect([ready, active]).toEqual([null, null]);
    expect(attempts).toHaveLength(1);
    expect(finished).toMatchObject({
      status: "COMPLETED",
      enqueued_at: before?.["enqueued_at"],
      claimed_at: before?.["claimed_at"],
      started_at: before?.["started_at"],
      worker_id: before?.["worker_id"],
      claim_id: claim.claimId,
      attempt_no: 2,
      retry_count: 1,
      result: { n: 1 },
      error: null,
      error_code: null,
      cancel_requested_at: null,
    });
    expect(Math.abs(msFromNow(finished?.["finished_at"]))).toBeLessThan(10_000);
  });

  test("fail: ends a running task FAILED with its error and no result", async () => {
    const claim = await addOneActive(db);

    expect(await settle(claim, { edge: "fail", ran: true, ...broken })).toEqual(asAsked);

    const { finished } = await placesOf(db, claim.id);
    expect(finished).toMatchObject({
      status: "FAILED",
      claim_id: claim.claimId,
      attempt_no: 1,
      error_code: "BROKEN",
      error: brokenError,
      result: null,
    });
    expect(finished?.["started_at"]).not.toBeNull();
  });

  test("retry: returns a running task later, spends a retry and keeps its attempt", async () => {
    const claim = await addOneActive(db, { crashCount: 2, retryCount: 3, goodMs: 600_000 });
    const before = (await placesOf(db, claim.id)).active;

    const reply = await settle(claim, { edge: "retry", ran: true, delayMs: 60_000, ...broken });

    expect(reply).toEqual(asAsked);
    const { ready, active, finished, attempts } = await placesOf(db, claim.id);
    expect([active, finished]).toEqual([null, null]);
    expect(ready).toMatchObject({
      attempt_no: 1,
      retry_count: 4,
      crash_count: 0,
      good_until: before?.["good_until"],
    });
    const delay = msFromNow(ready?.["enqueued_at"]);
    expect(delay).toBeGreaterThan(50_000);
    expect(delay).toBeLessThanOrEqual(60_000);
    expect(attempts).toMatchObject([
      {
        attempt_no: 1,
        outcome: "FAILED",
        claim_id: claim.claimId,
        worker_id: before?.["worker_id"],
        claimed_at: before?.["started_at"],
        started_at: before?.["started_at"],
        error_code: "BROKEN",
        error: brokenError,
      },
    ]);
  });

  test("requeue: returns a running task to its old place, keeps its attempt and its retries", async () => {
    const claim = await addOneActive(db, { retryCount: 1, crashCount: 1, runs: 1 });
    const before = (await placesOf(db, claim.id)).active;

    expect(await settle(claim, { edge: "requeue", ran: true })).toEqual(asAsked);

    const { ready, attempts } = await placesOf(db, claim.id);
    expect(ready).toMatchObject({
      enqueued_at: before?.["enqueued_at"],
      attempt_no: 2,
      retry_count: 1,
      crash_count: 1,
    });
    expect(attempts.at(-1)).toMatchObject({
      attempt_no: 2,
      outcome: "INTERRUPTED",
      error_code: null,
      error: null,
    });
  });

  test.each(["CLAIMED", "RUNNING"] as const)(
    "release: returns a %s task whose handler did not begin to its old place unchanged",
    async (status) => {
      const claim = await addOneActive(db, { status, runs: 1, retryCount: 1 });
      const before = (await placesOf(db, claim.id)).active;

      expect(await settle(claim, { edge: "release", ran: false })).toEqual(asAsked);

      const { ready, attempts } = await placesOf(db, claim.id);
      expect(ready).toMatchObject({
        enqueued_at: before?.["enqueued_at"],
        attempt_no: 1,
        retry_count: 1,
      });
      expect(attempts).toHaveLength(1);
    },
  );

  test("fail: records no attempt when the handler did not begin", async () => {
    const claim = await addOneActive(db, { runs: 1 });
    const before = (await placesOf(db, claim.id)).active;

    await settle(claim, { edge: "fail", ran: false, ...broken });

    const { finished, attempts } = await placesOf(db, claim.id);
    expect(finished).toMatchObject({ status: "FAILED", attempt_no: 1, started_at: null });
    expect(finished?.["claimed_at"]).toBe(before?.["started_at"]);
    expect(attempts).toHaveLength(1);
  });

  test("retry: spends a retry and counts no attempt when the handler did not begin", async () => {
    const claim = await addOneActive(db);

    await settle(claim, { edge: "retry", ran: false, delayMs: 0, ...broken });

    const { ready, attempts } = await placesOf(db, claim.id);
    expect(ready).toMatchObject({ attempt_no: 0, retry_count: 1 });
    expect(attempts).toEqual([]);
  });

  test("requeue: counts no attempt when the handler did not begin", async () => {
    const claim = await addOneActive(db);

    await settle(claim, { edge: "requeue", ran: false });

    const { ready, attempts } = await placesOf(db, claim.id);
    expect(ready).toMatchObject({ attempt_no: 0, retry_count: null });
    expect(attempts).toEqual([]);
  });

  test.each([
    ["would start after the deadline", { goodMs: 30_000 }, 60_000],
    ["would start at the deadline", { goodMs: 60_000 }, 60_000],
    ["has its deadline behind it", { goodMs: -1_000, heldMs: 5_000 }, 0],
  ])("retry: fails the task with its own error when the retry %s", async (_, seed, delayMs) => {
    const claim = await addOneActive(db, seed);

    const reply = await settle(claim, { edge: "retry", ran: true, delayMs, ...broken });

    expect(reply).toEqual({ settled: 1, overridden: [{ id: claim.id, status: "FAILED" }] });
    const { finished, attempts } = await placesOf(db, claim.id);
    expect(finished).toMatchObject({
      status: "FAILED",
      claim_id: claim.claimId,
      attempt_no: 1,
      retry_count: null,
      error_code: "BROKEN",
      error: brokenError,
    });
    expect(attempts).toEqual([]);
  });

  test("returns a task past its deadline to the queue, where it expires", async () => {
    const claim = await addOneActive(db, { goodMs: -1_000, heldMs: 5_000 });

    expect(await settle(claim, { edge: "requeue", ran: true })).toEqual(asAsked);

    expect((await placesOf(db, claim.id)).ready).not.toBeNull();
  });

  test.each([
    { edge: "succeed", ran: true, result: "1" },
    { edge: "fail", ran: true, ...broken },
    { edge: "retry", ran: true, delayMs: 0, ...broken },
    { edge: "requeue", ran: true },
    { edge: "release", ran: false },
  ] as const)("prefers a requested cancellation to $edge", async (how) => {
    const claim = await addOneActive(db, { isCancelRequested: true });
    const before = (await placesOf(db, claim.id)).active;

    const reply = await settle(claim, how);

    expect(reply).toEqual({ settled: 1, overridden: [{ id: claim.id, status: "CANCELLED" }] });
    const { ready, finished, attempts } = await placesOf(db, claim.id);
    expect(ready).toBeNull();
    expect(attempts).toEqual([]);
    expect(finished).toMatchObject({
      status: "CANCELLED",
      claim_id: claim.claimId,
      cancel_requested_at: before?.["cancel_requested_at"],
      started_at: how.ran ? before?.["started_at"] : null,
      attempt_no: how.ran ? 1 : 0,
      error_code: "TASK_CANCELLED",
      error: { code: "TASK_CANCELLED", message: "the task was cancelled" },
      result: null,
    });
  });

  test.each([
    ["null", "null"],
    ["nothing", undefined],
  ])("stores a result of %s as JSON null", async (_, result) => {
    const claim = await addOneActive(db);

    await settle(claim, {
      edge: "succeed",
      ran: true,
      ...(result === undefined ? {} : { result }),
    });

    const [row] = await db.sql(
      "select result::text as result from posthaste.finished_tasks where task_id = $1",
      [claim.id],
    );
    expect(row).toEqual({ result: "null" });
  });

  test("stores no result for a failed task", async () => {
    const claim = await addOneActive(db);

    await settle(claim, { edge: "fail", ran: true, ...broken });

    const [row] = await db.sql(
      "select result::text as result from posthaste.finished_tasks where task_id = $1",
      [claim.id],
    );
    expect(row).toEqual({ result: null });
  });
});
