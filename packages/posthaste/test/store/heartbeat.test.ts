import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { sql, statement } from "../../src/store/sql.ts";
import { BEGIN } from "../../src/store/transaction.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import {
  addActive,
  addOneActive,
  msFromNow,
  placesOf,
  type Claim,
  type TableRow,
} from "./task-rows.ts";
import { sendHeartbeat, heartbeatSender } from "./send-heartbeat.ts";

const db = useDatabase();
useCleanTables(db);

/** A claim's row in active_tasks. */
async function row({ id }: Claim): Promise<TableRow | null> {
  return (await placesOf(db, id)).active;
}

async function history(): Promise<TableRow[]> {
  return db.sql(
    `select task_id, claim_id, sender_id, role, hostname, pid from posthaste.heartbeats order by role desc, id`,
  );
}

describe("heartbeat", () => {
  test("moves the heartbeat of its claims and the lease of claims that have not started", async () => {
    const [running, claimed, other] = await addActive(db, [
      { heldMs: 60_000 },
      { heldMs: 60_000, status: "CLAIMED" },
      { heldMs: 60_000 },
    ]);
    if (!running || !claimed || !other) throw new Error("three were asked for");
    const before = [await row(running), await row(claimed), await row(other)];
    expect(before.map((each) => each?.["heartbeat_at"])).toEqual([null, null, null]);

    const connection = await db.connect("heartbeats");
    const claims = [running, claimed];
    expect(await sendHeartbeat(db.store, connection, claims)).toEqual(new Set([running.id]));
    expect(
      await sendHeartbeat(db.store, connection, claims, { role: "claimer", leaseMs: 300_000 }),
    ).toEqual(new Set([claimed.id]));

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
    const said = {
      sender_id: heartbeatSender.workerId,
      hostname: heartbeatSender.hostname,
      pid: 7,
    };
    expect(await history()).toEqual([
      { task_id: running.id, claim_id: running.claimId, role: "runner", ...said },
      { task_id: claimed.id, claim_id: claimed.claimId, role: "claimer", ...said },
    ]);
  });

  test("records the last turn of a blocked event loop, and never an earlier time than before", async () => {
    const [fresh, old] = await addActive(db, [{ heldMs: 60_000 }, { heldMs: 60_000 }]);
    if (!fresh || !old) throw new Error("two were asked for");
    const connection = await db.connect("heartbeats");
    await sendHeartbeat(db.store, connection, [fresh]);

    await sendHeartbeat(db.store, connection, [fresh, old], { loopBlockedMs: 20_000 });

    expect(msFromNow((await row(fresh))?.["heartbeat_at"])).toBeGreaterThan(-10_000);
    const blocked = msFromNow((await row(old))?.["heartbeat_at"]);
    expect(blocked).toBeLessThan(-20_000);
    expect(blocked).toBeGreaterThan(-30_000);
  });

  test("ignores a claim that the task no longer has", async () => {
    const [running, claimed] = await addActive(db, [{}, { status: "CLAIMED" }]);
    if (!running || !claimed) throw new Error("two were asked for");
    const before = [await row(running), await row(claimed)];

    const stale = [
      { id: running.id, claimId: randomUUID() },
      { id: claimed.id, claimId: running.claimId },
    ];
    const connection = await db.connect("heartbeats");
    for (const role of ["runner", "claimer"] as const)
      expect(await sendHeartbeat(db.store, connection, stale, { role })).toEqual(new Set());

    expect([await row(running), await row(claimed)]).toEqual(before);
    expect(await history()).toEqual([]);
  });

  test("does nothing for no claims", async () => {
    const claim = await addOneActive(db);
    const before = await row(claim);

    await sendHeartbeat(db.store, await db.connect("heartbeats"), []);

    expect(await row(claim)).toEqual(before);
  });

  test("skips a row that another session holds, without waiting", async () => {
    const [held, free] = await addActive(db, [{}, {}]);
    if (!held || !free) throw new Error("two were asked for");
    const [holder, beating] = [await db.connect("reads"), await db.connect("heartbeats")];
    await holder.query(BEGIN);
    await holder.query(
      statement(sql`select from posthaste.active_tasks where task_id = $1 for update`),
      [held.id],
    );

    expect(await sendHeartbeat(db.store, beating, [held, free])).toEqual(new Set([free.id]));

    expect((await row(held))?.["heartbeat_at"]).toBeNull();
    expect((await row(free))?.["heartbeat_at"]).not.toBeNull();
  });

  test("is a HOT update: it writes to no index", async () => {
    const claims = await addActive(db, [{}, { status: "CLAIMED" }]);
    const connection = await db.connect("heartbeats");

    await connection.query(BEGIN);
    await sendHeartbeat(db.store, connection, claims);
    await sendHeartbeat(db.store, connection, claims, { role: "claimer" });

    const [updates] = await connection.query(
      statement(sql`
      select n_tup_upd::int as "updates", n_tup_hot_upd::int as "hot" from pg_stat_xact_user_tables
       where relid = 'posthaste.active_tasks'::regclass`),
    );
    expect(updates).toEqual({ updates: 2, hot: 2 });
  });
});
