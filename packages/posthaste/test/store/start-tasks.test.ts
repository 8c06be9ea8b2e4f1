import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { addActive, addOneActive, msFromNow, placesOf } from "./task-rows.ts";

const db = useDatabase();

describe("startTasks", () => {
  test("makes a claimed task RUNNING, counts its attempt and removes its lease", async () => {
    const claim = await addOneActive(db, { status: "CLAIMED", runs: 1, goodMs: 60_000 });
    const before = (await placesOf(db, claim.id)).active;

    const reply = await db.store.startTasks(await db.connect(), [claim]);

    expect(reply).toEqual({
      started: [{ id: claim.id, attemptNo: 2 }],
      expired: [],
      lateNodes: [],
      heldBack: [],
      paused: [],
    });
    const { active } = await placesOf(db, claim.id);
    expect(active).toMatchObject({
      attempt_no: 2,
      claim_id: claim.claimId,
      claimed_at: before?.["claimed_at"],
      claim_expires_at: null,
    });
    expect(before?.["claim_expires_at"]).not.toBeNull();
    expect(Math.abs(msFromNow(active?.["started_at"]))).toBeLessThan(10_000);
  });

  test("expires a task that passed its deadline in the buffer, without an attempt", async () => {
    const [late, good] = await addActive(db, [
      { status: "CLAIMED", goodMs: -10, runs: 1, retryCount: 1 },
      { status: "CLAIMED" },
    ]);
    if (late === undefined || good === undefined) throw new Error("two were asked for");

    const reply = await db.store.startTasks(await db.connect(), [late, good]);

    expect(reply).toEqual({
      started: [{ id: good.id, attemptNo: 1 }],
      expired: [late.id],
      lateNodes: [],
      heldBack: [],
      paused: [],
    });
    const { finished, attempts } = await placesOf(db, late.id);
    expect(finished).toMatchObject({
      status: "EXPIRED",
      claim_id: late.claimId,
      attempt_no: 1,
      started_at: null,
      error_code: "TASK_EXPIRED",
      error: { code: "TASK_EXPIRED" },
    });
    expect(finished?.["claimed_at"]).not.toBeNull();
    expect(attempts).toHaveLength(1);
  });

  test("starts nothing under a claim that is not the task's", async () => {
    const claim = await addOneActive(db, { status: "CLAIMED" });
    const before = await placesOf(db, claim.id);

    const stale = { id: claim.id, claimId: randomUUID() };
    const reply = await db.store.startTasks(await db.connect(), [stale]);

    expect(reply).toEqual({ started: [], expired: [], lateNodes: [], heldBack: [], paused: [] });
    expect(await placesOf(db, claim.id)).toEqual(before);
  });

  test("expires nothing under a stale claim", async () => {
    const claim = await addOneActive(db, { status: "CLAIMED", goodMs: -10 });

    const stale = { id: claim.id, claimId: randomUUID() };
    const reply = await db.store.startTasks(await db.connect(), [stale]);

    expect(reply).toEqual({ started: [], expired: [], lateNodes: [], heldBack: [], paused: [] });
    expect((await placesOf(db, claim.id)).active).toMatchObject({
      started_at: null,
      attempt_no: 0,
    });
  });

  test("does not start a running task again", async () => {
    const claim = await addOneActive(db, { status: "RUNNING" });
    const before = await placesOf(db, claim.id);

    const reply = await db.store.startTasks(await db.connect(), [claim]);

    expect(reply).toEqual({ started: [], expired: [], lateNodes: [], heldBack: [], paused: [] });
    expect(await placesOf(db, claim.id)).toEqual(before);
  });

  test("does not start a task that was cancelled in the buffer", async () => {
    const claim = await addOneActive(db, { status: "CLAIMED" });
    await db.sql("select posthaste.cancel($1)", [claim.id]);

    const reply = await db.store.startTasks(await db.connect(), [claim]);

    expect(reply).toEqual({ started: [], expired: [], lateNodes: [], heldBack: [], paused: [] });
    expect((await placesOf(db, claim.id)).finished?.["status"]).toBe("CANCELLED");
  });
});
