/** A heartbeat that commits at the moment of a finish must not make the finish miss its row. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { TaskEnd, SettlingEdge } from "../../src/store/queries/settle/settle-tasks.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { BEGIN, COMMIT } from "../../src/store/transaction.ts";
import { addActive, type Claim } from "../store/task-rows.ts";
import { figures } from "../support/figures.ts";
import { waitUntil } from "../support/wait-until.ts";
import { useDatabase } from "../support/database.ts";
import { sendHeartbeat } from "../store/send-heartbeat.ts";
import { untilWaiting } from "./until-waiting.ts";

const db = useDatabase();

const REQUEUE = statement(sql`select posthaste.requeue($1)`);
const edges: readonly SettlingEdge[] = ["succeed", "fail", "retry", "release", "requeue"];

function settled(claim: Claim, edge: SettlingEdge = "succeed"): TaskEnd {
  return { ...claim, edge, ran: edge !== "release", code: "BROKEN", error: '{"code":"BROKEN"}' };
}

async function tasks(count: number, status: "CLAIMED" | "RUNNING" = "RUNNING"): Promise<Claim[]> {
  return addActive(
    db,
    Array.from({ length: count }, () => ({ status })),
  );
}

describe("heartbeat versus settle", () => {
  test("1,000 settles that waited for a heartbeat of their own row all find it", async () => {
    const [heart, finisher] = [await db.connect(), await db.connect()];
    const claims = await tasks(1_000);
    const misses: string[] = [];

    for (const [n, claim] of claims.entries()) {
      void heart.query(BEGIN);
      await sendHeartbeat(db.store, heart, [claim]);
      const finish = db.store.settleTasks(finisher, [settled(claim, edges[n % edges.length])]);
      await untilWaiting(db, 1);
      await heart.query(COMMIT);
      if ((await finish).settled !== 1) misses.push(claim.id);
    }

    figures("finishes that waited for a heartbeat", {
      forced: claims.length,
      missed: misses.length,
    });
    expect(misses).toEqual([]);
    expect(await db.sql("select from posthaste.active_tasks")).toEqual([]);
  });

  test("batches that waited for a heartbeat of all their rows find every one", async () => {
    const [heart, finisher] = [await db.connect(), await db.connect()];

    for (let round = 0; round < 50; round++) {
      const claims = await tasks(20);
      void heart.query(BEGIN);
      await sendHeartbeat(db.store, heart, claims);
      const finish = db.store.settleTasks(
        finisher,
        claims.map((claim) => settled(claim)),
      );
      await untilWaiting(db, 1);
      await heart.query(COMMIT);

      expect((await finish).settled).toBe(20);
    }
  });

  test("constant heartbeats make no settle miss its row", async () => {
    const [heart, finisher] = [await db.connect(), await db.connect()];
    const claims = await tasks(1_000);
    const finishing = new AbortController();
    let heartbeats = 0;
    const beating = (async () => {
      for (; !finishing.signal.aborted; heartbeats++) await sendHeartbeat(db.store, heart, claims);
    })();

    let finished = 0;
    for (let from = 0; from < claims.length; from += 10) {
      const batch = claims.slice(from, from + 10).map((claim) => settled(claim));
      finished += (await db.store.settleTasks(finisher, batch)).settled;
      // The heartbeats of all rows take longer than ends of a few: every 100 ends wait for one more.
      await waitUntil("a heartbeat", () => heartbeats >= from / 100);
    }
    finishing.abort();
    await beating;

    expect(finished).toBe(1_000);
  });

  test("a heartbeat does not wait for a settle and does not restore the row", async () => {
    const [heart, finisher] = [await db.connect(), await db.connect()];
    const workerId = randomUUID();
    const claims = await addActive(db, [{ workerId }, { workerId }]);

    await finisher.query(BEGIN);
    await db.store.settleTasks(
      finisher,
      claims.slice(0, 1).map((claim) => settled(claim)),
    );
    await sendHeartbeat(db.store, heart, claims);
    await finisher.query(COMMIT);

    expect(await db.store.storedClaims.list(heart, workerId)).toMatchObject(claims.slice(1));
  });

  test("200 starts that waited for a heartbeat of their own row all find it", async () => {
    const [heart, starter] = [await db.connect(), await db.connect()];

    for (const claim of await tasks(200, "CLAIMED")) {
      void heart.query(BEGIN);
      await sendHeartbeat(db.store, heart, [claim], { role: "claimer" });
      const start = db.store.startTasks(starter, [claim]);
      await untilWaiting(db, 1);
      await heart.query(COMMIT);

      expect((await start).started).toEqual([{ id: claim.id, attemptNo: 1 }]);
    }
  });

  test("a settle that waited while its task was taken away settles nothing", async () => {
    const [taker, finisher] = [await db.connect("reads"), await db.connect()];

    for (const { id, claimId } of await tasks(50)) {
      await taker.query(BEGIN);
      await taker.query(REQUEUE, [id]);
      const finish = db.store.settleTasks(finisher, [settled({ id, claimId })]);
      await untilWaiting(db, 1);
      await taker.query(COMMIT);

      expect(await finish).toEqual({ settled: 0, overridden: [] });
    }
  });
});
