/** Whatever `cancel` answers is what happens, however it meets a claim. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Connection } from "../../src/store/connection.ts";
import type { ClaimRequest } from "../../src/store/queries/claim/claim-tasks.ts";
import { BEGIN, COMMIT } from "../../src/store/transaction.ts";
import { addReady, newQueue, placesOf } from "../store/task-rows.ts";
import { figures } from "../support/figures.ts";
import { useDatabase } from "../support/database.ts";
import { untilWaiting } from "./until-waiting.ts";

const db = useDatabase();

/** Tasks in a queue each, so that a claim can ask for one of them; every third came back into the line. */
async function tasksInManyQueues(count: number): Promise<{ id: string; request: ClaimRequest }[]> {
  const queues = Array.from({ length: count }, newQueue);
  const ids = await addReady(
    db,
    queues.map((queue, n) => (n % 3 === 0 ? { queue, runs: 1, retryCount: 1 } : { queue })),
  );
  return ids.map((id, n) => ({
    id,
    request: {
      lanes: [{ queue: queues[n] ?? "", priority: 100, mark: -Infinity }],
      limit: 1,
      workerId: randomUUID(),
      leaseMs: 60_000,
    },
  }));
}

/** Fires both at once, the one or the other first in turn. */
async function race<A, B>(n: number, one: () => Promise<A>, other: () => Promise<B>) {
  if (n % 2 === 0) return Promise.all([one(), other()]);
  const second = other();
  return Promise.all([one(), second]);
}

async function connections(): Promise<[Connection, Connection]> {
  return [await db.connect("reads"), await db.connect()];
}

describe("cancel versus claim", () => {
  test("1,000 cancellations racing with a claim for a free slot: answer and end agree", async () => {
    const [canceller, worker] = await connections();
    const seen = { cancelled: 0, requested: 0 };

    for (const [n, { id, request }] of (await tasksInManyQueues(1_000)).entries()) {
      const [answer, claimed] = await race(
        n,
        () => db.store.cancelTask(canceller, id),
        () => db.store.claimAndStart(worker, request),
      );
      const [task] = claimed.tasks;

      if (answer === "cancelled") {
        seen.cancelled++;
        expect(task).toBeUndefined();
      } else {
        seen.requested++;
        expect(answer).toBe("requested");
        if (task === undefined) throw new Error("requested, but no worker runs it");
        const { active } = await placesOf(db, id);
        expect(active?.["cancel_requested_at"]).not.toBeNull();
        const settle = { id, claimId: task.claimId, edge: "succeed", ran: true } as const;
        const { overridden } = await db.store.settleTasks(worker, [settle]);
        expect(overridden).toEqual([{ id, status: "CANCELLED" }]);
      }
    }

    figures("1,000 cancellations against a claim", seen);
    expect(seen.cancelled).toBeGreaterThan(0);
    expect(seen.requested).toBeGreaterThan(0);
    expect(await endings()).toEqual([{ status: "CANCELLED", count: 1_000 }]);
  });

  test("500 cancellations racing with a prefetching claim: all cancelled, none started", async () => {
    await db.sql("truncate posthaste.submissions, posthaste.finished_tasks");
    const [canceller, worker] = await connections();
    let claims = 0;

    for (const [n, { id, request }] of (await tasksInManyQueues(500)).entries()) {
      const [answer, { tasks }] = await race(
        n,
        () => db.store.cancelTask(canceller, id),
        () => db.store.prefetch(worker, request),
      );

      expect(answer).toBe("cancelled");
      claims += tasks.length;
      const { started } = await db.store.startTasks(worker, tasks);
      expect(started).toEqual([]);
    }

    expect(claims).toBeGreaterThan(0);
    expect(claims).toBeLessThan(500);
    expect(await endings()).toEqual([{ status: "CANCELLED", count: 500 }]);
  });

  test("500 cancellations racing with a start: cancelled and not started, or started and requested", async () => {
    await db.sql("truncate posthaste.submissions, posthaste.finished_tasks");
    const [canceller, worker] = await connections();
    const seen = { cancelled: 0, requested: 0 };

    for (const [n, { id, request }] of (await tasksInManyQueues(500)).entries()) {
      const { tasks } = await db.store.prefetch(worker, request);
      const [answer, { started }] = await race(
        n,
        () => db.store.cancelTask(canceller, id),
        () => db.store.startTasks(worker, tasks),
      );

      expect(started.length).toBe(answer === "requested" ? 1 : 0);
      seen[answer === "requested" ? "requested" : "cancelled"]++;
      const ends = tasks.map((task) => ({ ...task, edge: "succeed", ran: true }) as const);
      const { overridden } = await db.store.settleTasks(worker, ends);
      expect(overridden).toEqual(answer === "requested" ? [{ id, status: "CANCELLED" }] : []);
    }

    figures("500 cancellations against a start", seen);
    expect(seen.cancelled).toBeGreaterThan(0);
    expect(seen.requested).toBeGreaterThan(0);
    expect(await endings()).toEqual([{ status: "CANCELLED", count: 500 }]);
  });

  test("a cancellation that waited for a claim is requested", async () => {
    const [canceller, worker] = await connections();

    for (const { id, request } of await tasksInManyQueues(50)) {
      await worker.query(BEGIN);
      const { tasks } = await db.store.claimAndStart(worker, request);
      const cancel = db.store.cancelTask(canceller, id);
      await untilWaiting(db, 1);
      await worker.query(COMMIT);

      expect(await cancel).toBe("requested");
      const ends = tasks.map((task) => ({ ...task, edge: "release", ran: false }) as const);
      const { overridden } = await db.store.settleTasks(worker, ends);
      expect(overridden).toEqual([{ id, status: "CANCELLED" }]);
    }
  });

  test("a claim skips the task of an uncommitted cancellation without waiting", async () => {
    const [canceller, worker] = await connections();

    for (const { id, request } of await tasksInManyQueues(50)) {
      await canceller.query(BEGIN);
      expect(await db.store.cancelTask(canceller, id)).toBe("cancelled");
      expect((await db.store.claimAndStart(worker, request)).tasks).toEqual([]);
      await canceller.query(COMMIT);
    }
  });
});

async function endings(): Promise<unknown> {
  return db.sql("select status, count(*)::int as count from posthaste.tasks group by status");
}
