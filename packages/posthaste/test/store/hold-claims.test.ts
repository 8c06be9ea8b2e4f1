import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { addActive, addOneActive } from "./task-rows.ts";

const db = useDatabase();

test("the list names the worker's claims and nobody else's", async () => {
  const workerId = randomUUID();
  const claims = await addActive(db, [{ workerId }, { workerId, status: "CLAIMED" }]);
  await addActive(db, [{}]);

  const listed = await db.store.holdClaims.list(await db.connect(), workerId);

  const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);
  expect(listed.sort(byId)).toMatchObject(claims.sort(byId));
});

test("running tasks are named, with whether they have one of the flags, set and true", async () => {
  const workerId = randomUUID();
  const [plain, resilient, unset] = await addActive(db, [{ workerId }, { workerId }, { workerId }]);
  await addActive(db, [{ workerId, status: "CLAIMED" }, {}]);
  const flag =
    "update posthaste.submissions set flags = jsonb_build_object('calm', $2::bool) where task_id = $1";
  await db.sql(flag, [resilient?.id, true]);
  await db.sql(flag, [unset?.id, false]);

  const running = await db.store.holdClaims.running(await db.connect(), workerId, ["calm"]);

  expect(new Map(running.map(({ id, isResilient }) => [id, isResilient]))).toEqual(
    new Map([
      [plain?.id, false],
      [resilient?.id, true],
      [unset?.id, false],
    ]),
  );
  expect(running[0]?.name).toBeTypeOf("string");
});

test("a stray claim is adopted with everything that the claim itself would have said", async () => {
  const connection = await db.connect();
  const workerId = randomUUID();
  await db.sql("select posthaste.send('stray', '{\"a\": 1}', queue => 'strays', priority => 3)");
  const { tasks } = await db.store.claimAndStart(connection, {
    lanes: [{ queue: "strays", priority: 3, mark: -Infinity }],
    limit: 1,
    workerId,
    leaseMs: 1_000,
  });
  const listed = await db.store.holdClaims.list(connection, workerId);

  const [adopted] = await db.store.holdClaims.adopt(connection, listed);

  const { isStarted, ...told } = adopted ?? {};
  expect(isStarted).toBe(true);
  expect(told).toMatchObject({
    name: "stray",
    queue: "strays",
    priority: 3,
    attemptNo: 1,
    retryCount: 0,
  });
  expect(tasks).toMatchObject([told]);
});

test("a stray that was only claimed says so, and a claim that is not the task's any more is not adopted", async () => {
  const own = await addOneActive(db, { status: "CLAIMED" });
  const lost = await addOneActive(db);

  const adopted = await db.store.holdClaims.adopt(await db.connect(), [
    own,
    { id: lost.id, claimId: own.claimId },
  ]);

  expect(adopted).toMatchObject([{ ...own, isStarted: false, attemptNo: 0 }]);
});

test("what was cancelled is named, in the list and by itself", async () => {
  const workerId = randomUUID();
  const claims = await addActive(db, [
    { workerId, isCancelRequested: true },
    { workerId, isCancelRequested: false },
  ]);
  const connection = await db.connect();
  const listed = await db.store.holdClaims.list(connection, workerId);
  const cancelled = listed.filter(({ isCancelRequested }) => isCancelRequested);
  expect(cancelled).toMatchObject(claims.slice(0, 1));
  expect(await db.store.holdClaims.cancelled(connection, claims)).toEqual(claims.slice(0, 1));
});
