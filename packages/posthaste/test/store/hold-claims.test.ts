import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { sql, statement } from "../../src/store/sql.ts";
import { BEGIN } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import {
  addActive,
  addOneActive,
  msFromNow,
  placesOf,
  type Claim,
  type TableRow,
} from "./task-rows.ts";

const db = useDatabase();

/** A claim's row in active_tasks. */
async function row({ id }: Claim): Promise<TableRow | null> {
  return (await placesOf(db, id)).active;
}

test("a renewal moves the heartbeat of the claims it names, the lease of what is not started, and nothing else", async () => {
  const [running, claimed, other] = await addActive(db, [
    { heldMs: 60_000 },
    { heldMs: 60_000, status: "CLAIMED" },
    { heldMs: 60_000 },
  ]);
  if (!running || !claimed || !other) throw new Error("three were asked for");
  const before = [await row(running), await row(claimed), await row(other)];
  expect(before.map((each) => each?.["heartbeat_at"])).toEqual([null, null, null]);

  await db.store.holdClaims.renew(await db.connect(), [running, claimed], 300_000);

  const after = [await row(running), await row(claimed), await row(other)];
  const beats = after.slice(0, 2).map((each) => each?.["heartbeat_at"]);
  for (const beat of beats) expect(Math.abs(msFromNow(beat))).toBeLessThan(10_000);
  const lease = after[1]?.["claim_expires_at"];
  expect(msFromNow(lease)).toBeGreaterThan(250_000);
  expect(after).toEqual([
    { ...before[0], heartbeat_at: beats[0], claim_expires_at: null },
    { ...before[1], heartbeat_at: beats[1], claim_expires_at: lease },
    before[2],
  ]);
});

test("a claim that is not the task's any more renews nothing", async () => {
  const [running, claimed] = await addActive(db, [{}, { status: "CLAIMED" }]);
  if (!running || !claimed) throw new Error("two were asked for");
  const before = [await row(running), await row(claimed)];

  const stale = [
    { id: running.id, claimId: randomUUID() },
    { id: claimed.id, claimId: running.claimId },
  ];
  await db.store.holdClaims.renew(await db.connect(), stale, 300_000);

  expect([await row(running), await row(claimed)]).toEqual(before);
});

test("a renewal of no claims does nothing", async () => {
  const claim = await addOneActive(db);
  const before = await row(claim);

  await db.store.holdClaims.renew(await db.connect(), [], 300_000);

  expect(await row(claim)).toEqual(before);
});

test("a renewal leaves out a row that somebody holds, and does not wait for it", async () => {
  const [held, free] = await addActive(db, [{}, {}]);
  if (!held || !free) throw new Error("two were asked for");
  const [holder, beating] = [await db.connect("reads"), await db.connect()];
  await holder.query(BEGIN);
  await holder.query(
    statement(sql`select from posthaste.active_tasks where task_id = $1 for update`),
    [held.id],
  );

  await db.store.holdClaims.renew(beating, [held, free], 300_000);

  expect((await row(held))?.["heartbeat_at"]).toBeNull();
  expect((await row(free))?.["heartbeat_at"]).not.toBeNull();
});

test("a renewal is a HOT update: it writes to no index", async () => {
  const claims = await addActive(db, [{}, { status: "CLAIMED" }]);
  const connection = await db.connect();

  await connection.query(BEGIN);
  await db.store.holdClaims.renew(connection, claims, 1_000);

  const [updates] = await connection.query(
    statement(sql`
      select n_tup_upd::int as "updates", n_tup_hot_upd::int as "hot" from pg_stat_xact_user_tables
       where relid = 'posthaste.active_tasks'::regclass`),
  );
  expect(updates).toEqual({ updates: 2, hot: 2 });
});

test("the list names the worker's claims and nobody else's", async () => {
  const workerId = randomUUID();
  const claims = await addActive(db, [{ workerId }, { workerId, status: "CLAIMED" }]);
  await addActive(db, [{}]);

  const listed = await db.store.holdClaims.list(await db.connect(), workerId);

  const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);
  expect(listed.sort(byId)).toMatchObject(claims.sort(byId));
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
    runNo: 1,
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

  expect(adopted).toMatchObject([{ ...own, isStarted: false, runNo: 0 }]);
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
