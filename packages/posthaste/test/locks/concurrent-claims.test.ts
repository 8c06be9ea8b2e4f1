/** Concurrent claims skip rows that another transaction has locked, and no task is lost or claimed twice. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Connection } from "../../src/store/connection.ts";
import type { ClaimRequest } from "../../src/store/queries/claim/claim-tasks.ts";
import { noRules } from "../../src/store/queries/claim/pick-ready.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { BEGIN, COMMIT, ROLLBACK } from "../../src/store/transaction.ts";
import { addReady, newQueue } from "../store/task-rows.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";

const db = useDatabase();
const { store } = db;

const LOCK = statement(sql`select from posthaste.ready_tasks where task_id = $1::uuid for update`);
/** Tasks that are due one second after the other. */
async function inLine(count: number): Promise<{ ids: string[]; request: ClaimRequest }> {
  const queue = newQueue();
  const seeds = Array.from({ length: count }, (_, n) => ({ queue, dueMs: (n - count) * 1_000 }));
  const lanes = [{ queue, priority: 100, mark: -Infinity }];
  const request = { lanes, limit: 2, workerId: randomUUID(), leaseMs: 60_000 };
  return { ids: await addReady(db, seeds), request };
}

const claim = async (session: Connection, request: ClaimRequest): Promise<Set<string>> =>
  new Set((await store.claimAndStart(session, request)).tasks.map(({ id }) => id));

const ways = [
  ["plain", {}],
  ["ranked", { rules: noRules }],
] as const;

describe("concurrent claims", () => {
  test.each(ways)("%s claim: skips a locked row without waiting", async (_, how) => {
    const { ids, request } = await inLine(4);
    const [holder, worker] = [await db.connect("reads"), await db.connect()];
    await holder.query(BEGIN);
    await holder.query(LOCK, [ids[1]]);
    expect(await claim(worker, { ...request, ...how })).toEqual(new Set([ids[0], ids[2]]));
    await holder.query(COMMIT);
  });

  test.each(ways)("%s claim: skips the rows of an uncommitted claim", async (_, how) => {
    const { ids, request } = await inLine(4);
    const [other, worker] = [await db.connect(), await db.connect()];
    await other.query(BEGIN);
    expect(await claim(other, { ...request, ...how })).toEqual(new Set([ids[0], ids[1]]));
    expect(await claim(worker, { ...request, ...how })).toEqual(new Set([ids[2], ids[3]]));
    await other.query(COMMIT);
  });

  test.each(ways)(
    "%s claim: finds the rows of a rolled-back claim in their place",
    async (_, how) => {
      const { ids, request } = await inLine(3);
      const [other, worker] = [await db.connect(), await db.connect()];
      await other.query(BEGIN);
      await claim(other, { ...request, ...how });
      await other.query(ROLLBACK);
      expect(await claim(worker, { ...request, ...how })).toEqual(new Set([ids[0], ids[1]]));
      expect(await claim(worker, { ...request, ...how })).toEqual(new Set([ids[2]]));
    },
  );

  test("of six sessions with rollbacks claim each task once, without a deadlock", async () => {
    const { ids, request } = await inLine(6_000);
    const taken: string[] = [];
    const seen = { full: 0, undone: 0 };

    async function work(n: number): Promise<void> {
      const session = await db.connect();
      const wanted = { ...request, limit: 20 + n, ...(n % 2 === 0 ? {} : { rules: noRules }) };
      for (let round = 1; ; round++) {
        await session.query(BEGIN);
        const claimed = [...(await claim(session, wanted))];
        if (claimed.length === wanted.limit) seen.full++;
        const isUndone = claimed.length > 0 && round % 7 === 0;
        await session.query(isUndone ? ROLLBACK : COMMIT);
        if (isUndone) seen.undone++;
        else taken.push(...claimed);
        if (claimed.length === 0) return;
      }
    }

    // A session that finds nothing may have looked while others held rows that they then rolled back: hence twice.
    for (let time = 0; time < 2; time++) await Promise.all([0, 1, 2, 3, 4, 5].map(work));
    figures("6,000 tasks, concurrent claims", seen);
    expect(taken).toHaveLength(ids.length);
    expect(new Set(taken)).toEqual(new Set(ids));
    expect(Math.min(seen.full, seen.undone)).toBeGreaterThan(10);
  });
});
