import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { statusAfter, type DecidedEdge } from "../../src/domain/task-lifecycle.ts";
import type { TaskEnd, SettlingEdge } from "../../src/store/queries/settle/settle-tasks.ts";
import { useDatabase } from "../support/database.ts";
import { addActive, addOneActive, placesOf, type Claim } from "./task-rows.ts";

const db = useDatabase();

const broken = { code: "BROKEN", message: "it broke" };
const edges: readonly SettlingEdge[] = ["succeed", "fail", "retry", "release", "requeue"];

/** A settle by this edge with all that it needs. */
function by(edge: SettlingEdge, claim: Claim, delayMs = 0): TaskEnd {
  return {
    ...claim,
    edge,
    ran: edge !== "release",
    ...(edge === "succeed" ? { result: "1" } : {}),
    ...(edge === "fail" || edge === "retry"
      ? { code: broken.code, error: JSON.stringify(broken) }
      : {}),
    ...(edge === "retry" ? { delayMs } : {}),
  };
}

async function statusesOf(ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.sql<{ id: string; status: string }>(
    "select id, status from posthaste.tasks where id = any ($1::uuid[])",
    [ids],
  );
  return new Map(rows.map(({ id, status }) => [id, status]));
}

describe("settleTasks", () => {
  test.each(edges)("%s changes nothing under a claim that is not the task's", async (edge) => {
    const claim = await addOneActive(db);
    const before = await placesOf(db, claim.id);

    const stale = by(edge, { id: claim.id, claimId: randomUUID() });
    const reply = await db.store.settleTasks(await db.connect(), [stale]);

    expect(reply).toEqual({ settled: 0, overridden: [] });
    expect(await placesOf(db, claim.id)).toEqual(before);
  });

  test.each(edges)(
    "%s changes nothing under a claim that was replaced by a new one",
    async (edge) => {
      const connection = await db.connect();
      const first = await addOneActive(db, { queue: `lost-${edge}` });
      await db.sql("select posthaste.requeue($1)", [first.id]);
      await db.store.claimAndStart(connection, {
        lanes: [{ queue: `lost-${edge}`, priority: 100, mark: -Infinity }],
        limit: 1,
        workerId: randomUUID(),
        leaseMs: 1_000,
      });
      const before = await placesOf(db, first.id);

      const reply = await db.store.settleTasks(connection, [by(edge, first)]);

      expect(reply).toEqual({ settled: 0, overridden: [] });
      expect(before.active?.["attempt_no"]).toBe(2);
      expect(await placesOf(db, first.id)).toEqual(before);
    },
  );

  test("settles the other tasks of a batch with a stale claim", async () => {
    const [one, two, three] = await addActive(db, [{}, {}, {}]);
    if (one === undefined || two === undefined || three === undefined)
      throw new Error("three asked");

    const reply = await db.store.settleTasks(await db.connect(), [
      by("succeed", one),
      by("succeed", { ...two, claimId: one.claimId }),
      by("succeed", three),
    ]);

    expect(reply.settled).toBe(2);
    expect([...(await statusesOf([one.id, two.id, three.id])).values()].sort()).toEqual([
      "COMPLETED",
      "COMPLETED",
      "RUNNING",
    ]);
  });

  test("settles a claim once", async () => {
    const connection = await db.connect();
    const claim = await addOneActive(db);
    await db.store.settleTasks(connection, [by("succeed", claim)]);
    const before = await placesOf(db, claim.id);

    const again = await db.store.settleTasks(connection, [by("fail", claim)]);

    expect(again.settled).toBe(0);
    expect(await placesOf(db, claim.id)).toEqual(before);
  });

  test("settles each task of a batch by its own edge", async () => {
    const claims = await addActive(
      db,
      edges.map(() => ({ queue: "mixed" })),
    );

    const settles = claims.map((claim, n) => by(edges[n] ?? "fail", claim));
    const reply = await db.store.settleTasks(await db.connect(), settles);

    expect(reply).toEqual({ settled: 5, overridden: [] });
    const statuses = await statusesOf(claims.map(({ id }) => id));
    expect(claims.map(({ id }) => statuses.get(id))).toEqual([
      "COMPLETED",
      "FAILED",
      "PENDING",
      "PENDING",
      "PENDING",
    ]);
  });

  test("settles a thousand ends in one statement", async () => {
    const claims = await addActive(
      db,
      Array.from({ length: 1_000 }, () => ({})),
    );

    const results = claims.map((claim, n) => ({ ...by("succeed", claim), result: String(n) }));
    const reply = await db.store.settleTasks(await db.connect(), results.toReversed());

    expect(reply.settled).toBe(1_000);
    const stored = await db.sql<{ result: number }>(
      `select result from unnest($1::uuid[]) with ordinality as asked (id, n)
       join posthaste.finished_tasks on task_id = id where status is null order by n`,
      [claims.map(({ id }) => id)],
    );
    expect(stored.map(({ result }) => result)).toEqual(claims.map((_, n) => n));
  });

  const MINUTE = 60_000;
  const minutes = fc.integer({ min: -5, max: 5 }).map((n) => n * MINUTE);
  const ending = fc.record({
    settlement: fc.oneof(
      fc.constant<DecidedEdge>({ edge: "succeed", value: 1 }),
      fc.constant<DecidedEdge>({ edge: "fail", error: broken }),
      fc
        .integer({ min: 0, max: 5 })
        .map((n): DecidedEdge => ({ edge: "retry", error: broken, delayMs: n * MINUTE })),
    ),
    facts: fc.record({
      cancelRequested: fc.constantFrom(true, false, false),
      // Whole minutes: only equal times are near each other, and then the few ms that pass decide as "too late" would.
      msUntilDeadline: fc.option(minutes),
    }),
  });

  test("sets the status that statusAfter gives", async () => {
    const connection = await db.connect();
    const met = new Set<string>();

    await fc.assert(
      fc.asyncProperty(fc.array(ending, { minLength: 1, maxLength: 30 }), async (cases) => {
        const claims = await addActive(
          db,
          cases.map(({ facts }) => ({
            isCancelRequested: facts.cancelRequested,
            heldMs: 10 * MINUTE,
            ...(facts.msUntilDeadline === null ? {} : { goodMs: facts.msUntilDeadline }),
          })),
        );
        const settles = cases.map(({ settlement }, n) => {
          const claim = claims[n] ?? { id: "", claimId: "" };
          const delayMs = settlement.edge === "retry" ? settlement.delayMs : 0;
          return by(settlement.edge, claim, delayMs);
        });
        await db.store.settleTasks(connection, settles);

        const statuses = await statusesOf(claims.map(({ id }) => id));
        const expected = cases.map(({ settlement, facts }) => statusAfter(settlement, facts));
        for (const [n, { settlement }] of cases.entries())
          met.add(`${settlement.edge} ${expected[n]}`);
        expect(claims.map(({ id }) => statuses.get(id))).toEqual(expected);
      }),
      { numRuns: 40 },
    );

    expect([...met].sort()).toEqual([
      "fail CANCELLED",
      "fail FAILED",
      "retry CANCELLED",
      "retry FAILED",
      "retry PENDING",
      "succeed CANCELLED",
      "succeed COMPLETED",
    ]);
  });
});
