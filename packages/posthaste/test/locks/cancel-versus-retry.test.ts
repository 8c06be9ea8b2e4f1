/** A cancellation that meets a retry is never lost: neither the promise "requested" nor the task itself. */
import { describe, expect, test } from "vitest";
import type { TaskEnd } from "../../src/store/queries/settle/settle-tasks.ts";
import { BEGIN, COMMIT } from "../../src/store/transaction.ts";
import { addActive, type Claim } from "../store/task-rows.ts";
import { figures } from "../support/figures.ts";
import { useDatabase } from "../support/database.ts";
import { untilWaiting } from "./until-waiting.ts";

const db = useDatabase();

function backIntoLine(claim: Claim, n = 0): TaskEnd {
  const edge = (["retry", "retry", "requeue"] as const)[n % 3] ?? "retry";
  return { ...claim, edge, ran: true, code: "BROKEN", error: '{"code":"BROKEN"}', delayMs: 0 };
}

async function running(count: number): Promise<Claim[]> {
  return addActive(
    db,
    Array.from({ length: count }, () => ({})),
  );
}

async function endOf(id: string): Promise<string | undefined> {
  const [row] = await db.sql<{ status: string }>(
    "select status from posthaste.tasks where id = $1",
    [id],
  );
  return row?.status;
}

describe("cancel versus retry", () => {
  test("1,000 cancellations racing with a retry all end CANCELLED", async () => {
    const [canceller, worker] = [await db.connect("reads"), await db.connect()];
    const seen = { cancelled: 0, requested: 0 };

    for (const [n, claim] of (await running(1_000)).entries()) {
      const settle = () => db.store.settleTasks(worker, [backIntoLine(claim, n)]);
      const cancel = () => db.store.cancelTask(canceller, claim.id);
      // The one or the other first, in turn.
      const early = n % 2 === 0 ? settle() : undefined;
      const answer = cancel();
      const reply = await (early ?? settle());

      const overridden = [{ id: claim.id, status: "CANCELLED" }];
      if ((await answer) === "requested") {
        seen.requested++;
        expect(reply).toEqual({ settled: 1, overridden });
      } else {
        seen.cancelled++;
        expect(await answer).toBe("cancelled");
        expect(reply).toEqual({ settled: 1, overridden: [] });
      }
      expect(await endOf(claim.id)).toBe("CANCELLED");
    }

    figures("1,000 cancellations against a retry", seen);
    expect(seen.cancelled).toBeGreaterThan(0);
    expect(seen.requested).toBeGreaterThan(0);
  });

  test("a cancellation that waited for a retry cancels the task in its queue", async () => {
    const [canceller, worker] = [await db.connect("reads"), await db.connect()];

    for (const [n, claim] of (await running(60)).entries()) {
      await worker.query(BEGIN);
      await db.store.settleTasks(worker, [backIntoLine(claim, n)]);
      const answer = db.store.cancelTask(canceller, claim.id);
      await untilWaiting(db, 1);
      await worker.query(COMMIT);

      expect(await answer).toBe("cancelled");
      expect(await endOf(claim.id)).toBe("CANCELLED");
    }
  });

  test("a retry that waited for a cancellation ends the task CANCELLED", async () => {
    const [canceller, worker] = [await db.connect("reads"), await db.connect()];

    for (const [n, claim] of (await running(60)).entries()) {
      await canceller.query(BEGIN);
      expect(await db.store.cancelTask(canceller, claim.id)).toBe("requested");
      const settle = db.store.settleTasks(worker, [backIntoLine(claim, n)]);
      await untilWaiting(db, 1);
      await canceller.query(COMMIT);

      const overridden = [{ id: claim.id, status: "CANCELLED" }];
      expect(await settle).toEqual({ settled: 1, overridden });
      expect(await endOf(claim.id)).toBe("CANCELLED");
    }
  });

  test("a cancellation that waited for an end answers that it came too late", async () => {
    const [canceller, worker] = [await db.connect("reads"), await db.connect()];

    for (const claim of await running(30)) {
      await worker.query(BEGIN);
      await db.store.settleTasks(worker, [{ ...claim, edge: "succeed", ran: true }]);
      const answer = db.store.cancelTask(canceller, claim.id);
      await untilWaiting(db, 1);
      await worker.query(COMMIT);

      expect(await answer).toBe("finished");
      expect(await endOf(claim.id)).toBe("COMPLETED");
    }
  });
});
