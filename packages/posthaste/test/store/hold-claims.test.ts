import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { addActive, addOneActive } from "./task-rows.ts";

const db = useDatabase();

describe("storedClaims", () => {
  test("lists the worker's claims only", async () => {
    const workerId = randomUUID();
    const claims = await addActive(db, [{ workerId }, { workerId, status: "CLAIMED" }]);
    await addActive(db, [{}]);

    const listed = await db.store.storedClaims.list(await db.connect(), workerId);

    const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);
    expect(listed.sort(byId)).toMatchObject(claims.sort(byId));
  });

  test("lists running tasks, and whether one of the flags is set to true", async () => {
    const workerId = randomUUID();
    const [plain, resilient, unset] = await addActive(db, [
      { workerId },
      { workerId },
      { workerId },
    ]);
    await addActive(db, [{ workerId, status: "CLAIMED" }, {}]);
    const flag =
      "update posthaste.submissions set flags = jsonb_build_object('calm', $2::bool) where task_id = $1";
    await db.sql(flag, [resilient?.id, true]);
    await db.sql(flag, [unset?.id, false]);

    const running = await db.store.storedClaims.running(await db.connect(), workerId, ["calm"]);

    expect(new Map(running.map(({ id, isResilient }) => [id, isResilient]))).toEqual(
      new Map([
        [plain?.id, false],
        [resilient?.id, true],
        [unset?.id, false],
      ]),
    );
    expect(running[0]?.name).toBeTypeOf("string");
  });

  test("adopts an orphaned claim with all fields of the claim's own reply", async () => {
    const connection = await db.connect();
    const workerId = randomUUID();
    await db.sql(
      "select posthaste.send('orphan', '{\"a\": 1}', queue => 'orphans', priority => 3)",
    );
    const { tasks } = await db.store.claimAndStart(connection, {
      lanes: [{ queue: "orphans", priority: 3, mark: -Infinity }],
      limit: 1,
      workerId,
      leaseMs: 1_000,
    });
    const listed = await db.store.storedClaims.list(connection, workerId);

    const [adopted] = await db.store.storedClaims.adopt(connection, listed);

    const { isStoredRunning, ...told } = adopted ?? {};
    expect(isStoredRunning).toBe(true);
    expect(told).toMatchObject({
      name: "orphan",
      queue: "orphans",
      priority: 3,
      attemptNo: 1,
      retryCount: 0,
    });
    expect(tasks).toMatchObject([told]);
  });

  test("adopts a CLAIMED task as not started, and no claim that the task no longer has", async () => {
    const own = await addOneActive(db, { status: "CLAIMED" });
    const lost = await addOneActive(db);

    const adopted = await db.store.storedClaims.adopt(await db.connect(), [
      own,
      { id: lost.id, claimId: own.claimId },
    ]);

    expect(adopted).toMatchObject([{ ...own, isStoredRunning: false, attemptNo: 0 }]);
  });

  test("reports requested cancellations, in the list and by themselves", async () => {
    const workerId = randomUUID();
    const claims = await addActive(db, [
      { workerId, isCancelRequested: true },
      { workerId, isCancelRequested: false },
    ]);
    const connection = await db.connect();
    const listed = await db.store.storedClaims.list(connection, workerId);
    const cancelled = listed.filter(({ isCancelRequested }) => isCancelRequested);
    expect(cancelled).toMatchObject(claims.slice(0, 1));
    expect(await db.store.storedClaims.cancelled(connection, claims)).toEqual(claims.slice(0, 1));
  });
});
