import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { CrashDecision } from "../../src/domain/crash-policy.ts";
import { criteria } from "../recovery/recovery-kit.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { FIRST_PAGE, recovery, recoverySteps } from "./recovery-steps.ts";
import { addActive, addOneActive, msFromNow, placesOf, type ActiveSeed } from "./task-rows.ts";
import { sendHeartbeat } from "./send-heartbeat.ts";

const db = useDatabase();
useCleanTables(db);
const { find, apply, remembered } = recoverySteps(db);

const OLD_MS = 10_000;

describe("recoverTasks", () => {
  test("finds pages in id order and skips the tasks it left before", async () => {
    await addActive(
      db,
      Array.from({ length: 25 }, () => ({ heldMs: OLD_MS })),
    );
    const connection = await db.connect("reads");
    const seen: string[] = [];
    for (let afterId = FIRST_PAGE.afterId; ;) {
      const page = await db.store.recoverTasks.find(connection, criteria("run stale"), {
        limit: 10,
        afterId,
      });
      seen.push(...page.map(({ id }) => id));
      const last = page.at(-1);
      if (last === undefined) break;
      afterId = last.id;
    }
    expect(seen).toHaveLength(25);
    expect(seen).toEqual([...new Set(seen)].sort());
  });

  describe("with a running task", () => {
    const wanted = criteria("run stale");
    const seed: ActiveSeed = { heldMs: OLD_MS, retryCount: 1, crashCount: 1, runs: 1 };

    test("fail: ends it without a claim id and counts its crash", async () => {
      const claim = await addOneActive(db, seed);
      const applied = await apply(wanted, recovery(claim, { decision: "fail" }));
      expect(applied).toMatchObject([{ ...claim, decision: "fail", dueAt: null, dueMs: null }]);
      const { finished, attempts } = await placesOf(db, claim.id);
      expect(finished).toMatchObject({
        status: "FAILED",
        error_code: "WORKER_CRASHED",
        error: { message: "interrupted" },
        claim_id: null,
        attempt_no: 2,
        retry_count: 1,
        crash_count: 2,
      });
      expect(attempts).toHaveLength(1);
    });

    test("retry: returns it after the delay, spends a retry and keeps the attempt", async () => {
      const claim = await addOneActive(db, seed);
      const applied = await apply(wanted, recovery(claim, { decision: "retry", delayMs: 5_000 }));
      expect(applied).toMatchObject([{ decision: "retry", dueMs: 5_000 }]);
      const { ready, attempts } = await placesOf(db, claim.id);
      expect(ready).toMatchObject({ attempt_no: 2, retry_count: 2, crash_count: 2 });
      expect(msFromNow(ready?.["enqueued_at"])).toBeGreaterThan(3_000);
      expect(attempts[1]).toMatchObject({
        attempt_no: 2,
        claim_id: claim.claimId,
        outcome: "WORKER_FAILURE",
        error_code: "WORKER_CRASHED",
        error: { message: "interrupted" },
      });
      const [task] = await db.sql("select last_error from posthaste.tasks where id = $1", [
        claim.id,
      ]);
      expect(task).toMatchObject({ last_error: { message: "interrupted" } });
    });

    test("requeue: keeps the retry count, and without a delay its place", async () => {
      const claim = await addOneActive(db, seed);
      const before = await placesOf(db, claim.id);
      await apply(wanted, recovery(claim, { decision: "requeue", due: { delayMs: 0 } }));
      const { ready, attempts } = await placesOf(db, claim.id);
      expect(ready).toMatchObject({
        enqueued_at: before.active?.["enqueued_at"],
        attempt_no: 2,
        retry_count: 1,
        crash_count: 2,
      });
      expect(attempts[1]).toMatchObject({ outcome: "WORKER_FAILURE" });
    });

    test("requeue: returns it at a given time with a given number of retries", async () => {
      const claim = await addOneActive(db, seed);
      const runAt = new Date(Date.now() + 3_600_000);
      const decision = { decision: "requeue", due: { runAt }, retries: 3 } as const;
      const [applied] = await apply(wanted, recovery(claim, decision));
      expect(applied?.dueAt).toEqual(runAt);
      const { ready } = await placesOf(db, claim.id);
      expect(ready).toMatchObject({ retry_count: 3, crash_count: 2 });
      expect(Date.parse(String(ready?.["enqueued_at"]))).toBe(runAt.getTime());
    });

    test("skip: leaves it, hides it until its time, and records that", async () => {
      const claim = await addOneActive(db, seed);
      const before = await placesOf(db, claim.id);
      const applied = await apply(wanted, recovery(claim, { decision: "skip", delayMs: 60_000 }));
      expect(applied).toMatchObject([{ ...claim, decision: "skip", dueMs: 60_000 }]);
      expect(await placesOf(db, claim.id)).toEqual(before);
      expect(await find(wanted)).toEqual([]);
      expect(await apply(wanted, recovery(claim, { decision: "fail" }))).toEqual([]);
      expect(await remembered()).toMatchObject([{ decision: "skip", recovered_by: "tester" }]);
      await db.sql("update posthaste.recoveries set due_at = now()");
      expect(await find(wanted)).toHaveLength(1);
    });

    test("skip: applies to one claim; the next claim of the task is found", async () => {
      const claim = await addOneActive(db, seed);
      await apply(wanted, recovery(claim, { decision: "skip", delayMs: 60_000 }));
      await db.sql("update posthaste.active_tasks set claim_id = gen_random_uuid()");
      expect(await find(wanted)).toHaveLength(1);
    });

    test.each<CrashDecision>([
      { decision: "fail" },
      { decision: "retry", delayMs: 0 },
      { decision: "requeue", due: { delayMs: 0 } },
      { decision: "skip", delayMs: 60_000 },
      { decision: "cancel" },
    ])("prefers a requested cancellation to $decision", async (decision) => {
      const claim = await addOneActive(db, { ...seed, isCancelRequested: true });
      expect(await apply(wanted, recovery(claim, decision))).toMatchObject([
        { decision: "cancel" },
      ]);
      expect((await placesOf(db, claim.id)).finished).toMatchObject({
        status: "CANCELLED",
        error_code: "TASK_CANCELLED",
      });
      expect(await remembered()).toMatchObject([{ decision: "cancel", due_at: null }]);
    });

    test("does not delay a cancellation that was requested after a skip", async () => {
      const claim = await addOneActive(db, seed);
      await apply(wanted, recovery(claim, { decision: "skip", delayMs: 60_000 }));
      await db.sql("select posthaste.cancel($1)", [claim.id]);
      expect(await find(wanted)).toMatchObject([{ id: claim.id, isCancelRequested: true }]);
      await apply(wanted, recovery(claim, { decision: "cancel" }));
      expect((await placesOf(db, claim.id)).finished).toMatchObject({ status: "CANCELLED" });
    });

    test.each<CrashDecision>([
      { decision: "retry", delayMs: 5_000 },
      { decision: "requeue", due: { delayMs: 5_000 } },
      { decision: "requeue", due: { runAt: new Date(Date.now() + 3_600_000) } },
    ])("ends a task with %j beyond its deadline", async (decision) => {
      const claim = await addOneActive(db, { ...seed, goodMs: 4_000 });
      expect(await apply(wanted, recovery(claim, decision))).toMatchObject([{ decision: "fail" }]);
      expect((await placesOf(db, claim.id)).finished).toMatchObject({ status: "FAILED" });
    });
  });

  describe("with a claimed task", () => {
    const wanted = criteria("claim stale");
    const seed: ActiveSeed = {
      status: "CLAIMED",
      heldMs: OLD_MS,
      runs: 1,
      retryCount: 1,
      crashCount: 1,
    };

    test("release: returns it to its old place and counts nothing", async () => {
      const claim = await addOneActive(db, seed);
      const before = await placesOf(db, claim.id);
      const applied = await apply(wanted, recovery(claim, { decision: "release" }));
      expect(applied).toMatchObject([{ decision: "release" }]);
      expect(applied[0]?.dueMs).toBeLessThan(0);
      const { ready, attempts } = await placesOf(db, claim.id);
      expect(ready).toMatchObject({
        enqueued_at: before.active?.["enqueued_at"],
        attempt_no: 1,
        retry_count: 1,
        crash_count: 1,
      });
      expect(attempts).toHaveLength(1);
      expect(await remembered()).toMatchObject([{ status: "CLAIMED", reason: "claim stale" }]);
    });

    test("applies a hook's answer: a time, a retry or an end, without an attempt", async () => {
      const claims = await addActive(db, [seed, seed, seed]);
      const wants: CrashDecision[] = [
        { decision: "requeue", due: { runAt: new Date(Date.now() + 60_000) } },
        { decision: "retry", delayMs: 60_000 },
        { decision: "fail" },
      ];
      const decided = claims.flatMap((claim, n) =>
        wants[n] === undefined ? [] : [recovery(claim, wants[n])],
      );
      expect(await apply(wanted, ...decided)).toHaveLength(3);
      const places = await Promise.all(claims.map(({ id }) => placesOf(db, id)));
      expect(places.map(({ attempts }) => attempts.length)).toEqual([1, 1, 1]);
      expect(places[1]?.ready).toMatchObject({ retry_count: 2, crash_count: 1 });
      expect(places[2]?.finished).toMatchObject({ status: "FAILED", started_at: null });
    });
  });

  describe("fence", () => {
    test("leaves another claim of the same task unchanged", async () => {
      const { id } = await addOneActive(db, { heldMs: OLD_MS });
      const late = recovery({ id, claimId: randomUUID() }, { decision: "fail" });
      expect(await apply(criteria("run stale"), late)).toEqual([]);
      expect((await placesOf(db, id)).active).not.toBeNull();
    });

    test("leaves a task that was renewed between the two statements", async () => {
      const claim = await addOneActive(db, { heldMs: OLD_MS });
      expect(await find(criteria("run stale"))).toHaveLength(1);
      await sendHeartbeat(db.store, await db.connect(), [claim]);
      const decided = recovery(claim, { decision: "fail" });
      expect(await apply(criteria("run stale"), decided)).toEqual([]);
      expect(await remembered()).toEqual([]);
    });
  });
});
