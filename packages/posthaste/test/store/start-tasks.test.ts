import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { addActive, addOneActive, msFromNow, placesOf } from "./task-rows.ts";

const db = useDatabase();

test("a claimed task that gets a slot is RUNNING, with its run counted, and needs no lease any more", async () => {
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

test("a task that passed its deadline in the buffer ends EXPIRED, and no attempt is counted", async () => {
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

test("a claim that is not the task's starts nothing", async () => {
  const claim = await addOneActive(db, { status: "CLAIMED" });
  const before = await placesOf(db, claim.id);

  const stale = { id: claim.id, claimId: randomUUID() };
  const reply = await db.store.startTasks(await db.connect(), [stale]);

  expect(reply).toEqual({ started: [], expired: [], lateNodes: [], heldBack: [], paused: [] });
  expect(await placesOf(db, claim.id)).toEqual(before);
});

test("a stale claim expires nothing either", async () => {
  const claim = await addOneActive(db, { status: "CLAIMED", goodMs: -10 });

  const stale = { id: claim.id, claimId: randomUUID() };
  const reply = await db.store.startTasks(await db.connect(), [stale]);

  expect(reply).toEqual({ started: [], expired: [], lateNodes: [], heldBack: [], paused: [] });
  expect((await placesOf(db, claim.id)).active).toMatchObject({ started_at: null, attempt_no: 0 });
});

test("a task that runs already is not started again", async () => {
  const claim = await addOneActive(db, { status: "RUNNING" });
  const before = await placesOf(db, claim.id);

  const reply = await db.store.startTasks(await db.connect(), [claim]);

  expect(reply).toEqual({ started: [], expired: [], lateNodes: [], heldBack: [], paused: [] });
  expect(await placesOf(db, claim.id)).toEqual(before);
});

test("a task that was cancelled in the buffer is not started", async () => {
  const claim = await addOneActive(db, { status: "CLAIMED" });
  await db.sql("select posthaste.cancel($1)", [claim.id]);

  const reply = await db.store.startTasks(await db.connect(), [claim]);

  expect(reply).toEqual({ started: [], expired: [], lateNodes: [], heldBack: [], paused: [] });
  expect((await placesOf(db, claim.id)).finished?.["status"]).toBe("CANCELLED");
});
