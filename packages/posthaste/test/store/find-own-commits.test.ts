import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { addActive, addOneActive, type Claim } from "./task-rows.ts";

const db = useDatabase();

const broken = { code: "BROKEN", error: '{"code":"BROKEN","message":"it broke"}' };

async function isOwn(claim: Claim): Promise<boolean> {
  return (await db.store.findOwnCommits(await db.connect(), [claim])).has(claim.id);
}

describe("findOwnCommits", () => {
  test("recognises an end that the claim wrote", async () => {
    const [completed, failed] = await addActive(db, [{}, {}]);
    if (completed === undefined || failed === undefined) throw new Error("two were asked for");
    await db.store.settleTasks(await db.connect(), [
      { ...completed, edge: "succeed", ran: true, result: "1" },
      { ...failed, edge: "fail", ran: true, ...broken },
    ]);

    expect(await isOwn(completed)).toBe(true);
    expect(await isOwn(failed)).toBe(true);
    expect(await isOwn({ ...completed, claimId: randomUUID() })).toBe(false);
  });

  test("recognises an end that was turned into a cancellation", async () => {
    const claim = await addOneActive(db, { isCancelRequested: true });
    await db.store.settleTasks(await db.connect(), [{ ...claim, edge: "succeed", ran: true }]);

    expect(await isOwn(claim)).toBe(true);
  });

  test("recognises a retry that the claim wrote, also after another attempt of the task", async () => {
    const connection = await db.connect();
    const claim = await addOneActive(db, { queue: "retried" });
    await db.store.settleTasks(connection, [{ ...claim, edge: "retry", ran: true, ...broken }]);
    expect(await isOwn(claim)).toBe(true);

    const { tasks } = await db.store.claimAndStart(connection, {
      lanes: [{ queue: "retried", priority: 100, mark: -Infinity }],
      limit: 1,
      workerId: randomUUID(),
      leaseMs: 1_000,
    });
    const [second] = tasks;
    if (second === undefined) throw new Error("it was due");

    expect(await isOwn(claim)).toBe(true);
    expect(await isOwn(second)).toBe(false);
  });

  test.each([
    ["failed", "select posthaste.fail($1, 'OPERATOR', 'enough')"],
    ["requeued", "select posthaste.requeue($1)"],
  ])("does not recognise a task that an operator %s", async (_, text) => {
    const claim = await addOneActive(db);
    await db.sql(text, [claim.id]);

    expect(await isOwn(claim)).toBe(false);
  });

  test("does not recognise a task that was cancelled before it began", async () => {
    const claim = await addOneActive(db, { status: "CLAIMED" });
    await db.sql("select posthaste.cancel($1)", [claim.id]);

    expect(await isOwn(claim)).toBe(false);
  });

  test("names, of many claims, those with commits of their own", async () => {
    const connection = await db.connect();
    const claims = await addActive(
      db,
      Array.from({ length: 20 }, () => ({})),
    );
    const settled = claims.filter((_, n) => n % 2 === 0);
    await db.store.settleTasks(
      connection,
      settled.map((claim) => ({ ...claim, edge: "succeed", ran: true })),
    );

    const own = await db.store.findOwnCommits(connection, claims);

    expect(own).toEqual(new Map(settled.map(({ id }) => [id, "COMPLETED"])));
  });
});
