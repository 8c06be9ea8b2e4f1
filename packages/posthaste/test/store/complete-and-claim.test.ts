/** A worker's usual round trip: one statement that completes what succeeded and claims in its place. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { noRules, type ClaimRules } from "../../src/store/queries/claim/pick-ready.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { BEGIN, COMMIT } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { addActive, addOneActive, addOneReady, newQueue, placesOf } from "./task-rows.ts";

const db = useDatabase();

const succeeded = (claim: { id: string; claimId: string }, result = "null") => ({
  ...claim,
  edge: "succeed" as const,
  ran: true,
  result,
});

/** As it is, and ranked, as for queues of one rank. */
const bothPicks = [
  ["plain", undefined],
  ["ranked", noRules],
] as const;

const request = (queue: string, rules?: ClaimRules) => ({
  lanes: [{ queue, priority: 100, mark: -Infinity }],
  limit: 10,
  workerId: randomUUID(),
  leaseMs: 1_000,
  rules,
});

describe("completeAndClaim", () => {
  test.each(bothPicks)(
    "%s: completes each under its own claim, reports cancelled ones, and claims waiting tasks",
    async (_, rules) => {
      const queue = newQueue();
      const waiting = await addOneReady(db, { queue });
      const claims = await addActive(db, [{}, {}, { isCancelRequested: true }]);
      const [plain, other, cancelled] = claims;
      if (plain === undefined || other === undefined || cancelled === undefined) throw new Error();
      const stolen = { id: other.id, claimId: plain.claimId }; // a claim of ours, of another task

      const reply = await db.store.completeAndClaim(
        await db.connect(),
        [succeeded(plain, '{"a":1}'), succeeded(stolen), succeeded(cancelled, "2")],
        request(queue, rules),
      );

      expect(reply.settle).toEqual({
        settled: 2,
        overridden: [{ id: cancelled.id, status: "CANCELLED" }],
      });
      expect(reply.claim.tasks.map(({ id }) => id)).toEqual([waiting]);
      expect((await placesOf(db, plain.id)).finished).toMatchObject({
        status: "COMPLETED",
        result: { a: 1 },
        claim_id: plain.claimId,
      });
      expect((await placesOf(db, cancelled.id)).finished).toMatchObject({ result: null });
      expect((await placesOf(db, other.id)).active).toMatchObject({ claim_id: other.claimId });
    },
  );

  test.each(bothPicks)(
    "%s: holds no waiting task while it waits for an active row",
    async (_, rules) => {
      const queue = newQueue();
      const waiting = await addOneReady(db, { queue });
      const claim = await addOneActive(db);
      const [holder, worker, free] = [await db.connect(), await db.connect(), await db.connect()];
      await holder.query(BEGIN);
      await holder.query(
        statement(sql`select from posthaste.active_tasks where task_id = $1 for update`),
        [claim.id],
      );
      const both = db.store.completeAndClaim(worker, [succeeded(claim)], request(queue, rules));
      await expect
        .poll(() =>
          db.sql(
            "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
          ),
        )
        .toHaveLength(1);

      const elsewhere = await db.store.claimAndStart(free, request(queue, rules));
      await holder.query(COMMIT);

      expect(elsewhere.tasks.map(({ id }) => id)).toEqual([waiting]);
      expect(await both).toMatchObject({ settle: { settled: 1 }, claim: { tasks: [] } });
    },
  );
});
