import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Connection } from "../../src/store/connection.ts";
import type { ClaimLane } from "../../src/store/queries/claim/claim-tasks.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { BEGIN, COMMIT } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { addReady, newQueue } from "./task-rows.ts";

const db = useDatabase();

/** A waiting task of a random case. Few values for each field, so that ties and neighbours are frequent. */
const task = fc.record({
  queue: fc.integer({ min: 0, max: 2 }),
  priority: fc.constantFrom(1, 2, 50, 100),
  // Minutes, so that the milliseconds between writing and claiming decide nothing.
  dueMinutes: fc.constantFrom(-30, -20, -10, -1, 10, 20),
  goodMinutes: fc.constantFrom(null, null, -5, 15),
  isLocked: fc.constantFrom(true, false, false),
  // Never claimed, fetched ahead and released, tried once.
  runs: fc.constantFrom(null, null, 0, 1),
});
const randomCase = fc.record({
  tasks: fc.array(task, { maxLength: 40, size: "max" }),
  // Lanes in any order, and not all of them.
  lanes: fc.shuffledSubarray(
    [0, 1, 2].flatMap((queue) => [1, 2, 50, 100].map((priority) => ({ queue, priority }))),
    { minLength: 3 },
  ),
  limit: fc.integer({ min: 1, max: 12 }),
});

type Case = typeof randomCase extends fc.Arbitrary<infer Value> ? Value : never;
type Waiting = Case["tasks"][number] & { readonly id: string };

/** The plain rule. */
function oracle({ lanes, limit }: Case, waiting: readonly Waiting[]) {
  const inLine = lanes.flatMap(({ queue, priority }) =>
    waiting
      .filter((each) => each.queue === queue && each.priority === priority)
      .filter((each) => each.dueMinutes < 0 && !each.isLocked)
      .sort((a, b) => a.dueMinutes - b.dueMinutes || (a.id < b.id ? -1 : 1)),
  );
  const taken = inLine.slice(0, limit);
  const isLate = ({ goodMinutes }: Waiting): boolean => goodMinutes !== null && goodMinutes < 0;
  const future = waiting.filter(
    (each) =>
      each.dueMinutes > 0 &&
      lanes.some((lane) => lane.queue === each.queue && lane.priority === each.priority),
  );
  return {
    claimed: taken.filter((each) => !isLate(each)).map(({ id }) => id),
    expired: taken.filter(isLate).map(({ id }) => id),
    nextDueMinutes:
      future.length === 0 ? null : Math.min(...future.map(({ dueMinutes }) => dueMinutes)),
  };
}

const LOCK = statement(
  sql`select from posthaste.ready_tasks where task_id = any ($1::uuid[]) for update`,
);

async function claimed(holder: Connection, claimer: Connection, given: Case) {
  const queues = [newQueue(), newQueue(), newQueue()];
  const queueOf = (n: number): string => queues[n] ?? "";
  const waiting: Waiting[] = given.tasks.map((each) => ({ ...each, id: randomUUID() }));
  await addReady(
    db,
    waiting.map(({ id, queue, priority, dueMinutes, goodMinutes, runs }) => ({
      id,
      queue: queueOf(queue),
      priority,
      dueMs: dueMinutes * 60_000,
      ...(runs === null ? {} : { runs }),
      ...(goodMinutes === null ? {} : { goodMs: goodMinutes * 60_000 }),
    })),
  );
  const lanes = given.lanes.map(({ queue, priority }): ClaimLane => ({
    queue: queueOf(queue),
    priority,
    mark: -Infinity,
  }));
  await holder.query(BEGIN);
  await holder.query(LOCK, [waiting.filter(({ isLocked }) => isLocked).map(({ id }) => id)]);
  const reply = await db.store.claimAndStart(claimer, {
    lanes,
    limit: given.limit,
    workerId: randomUUID(),
    leaseMs: 60_000,
  });
  await holder.query(COMMIT);
  return {
    actual: {
      claimed: reply.tasks.map(({ id }) => id).sort(),
      expired: reply.expired.sort(),
      nextDueMinutes: reply.nextDueMs === null ? null : Math.round(reply.nextDueMs / 60_000),
    },
    expected: oracle(given, waiting),
  };
}

describe("claimAndStart", () => {
  test("claims by the plain rule in 200 random cases", async () => {
    const [holder, claimer] = [await db.connect("reads"), await db.connect()];
    const seen = { claims: 0, expiries: 0, skips: 0 };

    await fc.assert(
      fc.asyncProperty(randomCase, async (given) => {
        const { actual, expected } = await claimed(holder, claimer, given);
        seen.claims += expected.claimed.length;
        seen.expiries += expected.expired.length;
        seen.skips += given.tasks.filter(({ isLocked }) => isLocked).length;
        expect(actual).toEqual({
          ...expected,
          claimed: expected.claimed.sort(),
          expired: expected.expired.sort(),
        });
      }),
      { numRuns: 200 },
    );

    // A property that never met the interesting cases would prove nothing.
    expect(Math.min(seen.claims, seen.expiries, seen.skips)).toBeGreaterThan(50);
  });
});
