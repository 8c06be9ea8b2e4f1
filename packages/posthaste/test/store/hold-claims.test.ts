import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { sql, statement } from "../../src/store/sql.ts";
import { BEGIN } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { addActive, addOneActive, msFromNow, placesOf } from "./task-rows.ts";

const db = useDatabase();

test("a renewal moves the lease and the heartbeat of every claim of the worker, and of no other", async () => {
  const workerId = randomUUID();
  const [running, claimed, foreign] = await addActive(db, [
    { workerId, heldMs: 60_000 },
    { workerId, heldMs: 60_000, status: "CLAIMED" },
    { heldMs: 60_000 },
  ]);
  const before = await placesOf(db, foreign?.id ?? "");

  await db.store.holdClaims.renew(await db.connect(), workerId, 300_000);

  for (const claim of [running, claimed]) {
    const { active } = await placesOf(db, claim?.id ?? "");
    expect(msFromNow(active?.["heartbeat_at"])).toBeGreaterThan(-10_000);
    expect(msFromNow(active?.["claim_expires_at"])).toBeGreaterThan(250_000);
    expect(msFromNow(active?.["claimed_at"])).toBeLessThan(-50_000);
  }
  expect(await placesOf(db, foreign?.id ?? "")).toEqual(before);
});

test("a renewal leaves out a row that somebody holds, and does not wait for it", async () => {
  const workerId = randomUUID();
  const [held, free] = await addActive(db, [
    { workerId, heldMs: 60_000 },
    { workerId, heldMs: 60_000 },
  ]);
  const [holder, beating] = [await db.connect("reads"), await db.connect()];
  await holder.query(BEGIN);
  await holder.query(
    statement(sql`select from posthaste.active_tasks where task_id = $1 for update`),
    [held?.id],
  );

  await db.store.holdClaims.renew(beating, workerId, 300_000);

  const beatOf = async (id = ""): Promise<number> =>
    msFromNow((await placesOf(db, id)).active?.["heartbeat_at"]);
  expect(await beatOf(held?.id)).toBeLessThan(-50_000);
  expect(await beatOf(free?.id)).toBeGreaterThan(-10_000);
});

test("a renewal is a HOT update: it writes to no index", async () => {
  const workerId = randomUUID();
  await addActive(db, [{ workerId }, { workerId }]);
  const connection = await db.connect();

  await connection.query(BEGIN);
  await db.store.holdClaims.renew(connection, workerId, 1_000);

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
  expect(listed.sort(byId)).toEqual(claims.sort(byId));
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
  const [claimed] = tasks;

  const [adopted] = await db.store.holdClaims.adopt(connection, workerId, [claimed?.claimId ?? ""]);

  const { isStarted, ...told } = adopted ?? {};
  expect(isStarted).toBe(true);
  expect(told).toMatchObject({ name: "stray", queue: "strays", priority: 3, runNo: 1 });
  expect(claimed).toMatchObject(told);
});

test("a stray that was only claimed says so, and nobody adopts another worker's claim", async () => {
  const connection = await db.connect();
  const workerId = randomUUID();
  const own = await addOneActive(db, { workerId, status: "CLAIMED" });
  const foreign = await addOneActive(db);

  const adopted = await db.store.holdClaims.adopt(connection, workerId, [
    own.claimId,
    foreign.claimId,
  ]);

  expect(adopted).toMatchObject([{ ...own, isStarted: false, runNo: 0 }]);
});
