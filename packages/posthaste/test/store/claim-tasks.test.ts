import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { ClaimLane, ClaimRequest } from "../../src/store/queries/claim/claim-tasks.ts";
import { BEGIN, inOneTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { addOneReady, addReady, msFromNow, newQueue, placesOf, type Places } from "./task-rows.ts";

const db = useDatabase();

function lane(queue: string, priority = 100, mark = -Infinity): ClaimLane {
  return { queue, priority, mark };
}

function request(
  lanes: readonly ClaimLane[],
  limit = 10,
  workerId: string = randomUUID(),
): ClaimRequest {
  return { lanes, limit, workerId, leaseMs: 30_000 };
}

describe("claimTasks", () => {
  test("stores a task claimed for a free slot as RUNNING and counts its first attempt", async () => {
    const queue = newQueue();
    const id = await addOneReady(db, { queue, name: "greet", input: { a: 1 } });
    const workerId = randomUUID();

    const reply = await db.store.claimAndStart(
      await db.connect(),
      request([lane(queue)], 1, workerId),
    );

    const { active, ready } = await placesOf(db, id);
    expect(ready).toBeNull();
    expect(active).toMatchObject({
      worker_id: workerId,
      attempt_no: 1,
      cancel_requested_at: null,
      claimed_at: null,
      claim_expires_at: null,
      heartbeat_at: null,
    });
    expect(Math.abs(msFromNow(active?.["started_at"]))).toBeLessThan(10_000);
    expect(reply.tasks).toHaveLength(1);
    expect(reply.tasks[0]).toMatchObject({
      id,
      claimId: active?.["claim_id"],
      name: "greet",
      queue,
      priority: 100,
      attemptNo: 1,
      retryCount: 0,
      options: null,
    });
    expect(JSON.parse(reply.tasks[0]?.input ?? "")).toEqual({ a: 1 });
  });

  test("stores a prefetched task as CLAIMED and counts no attempt", async () => {
    const queue = newQueue();
    const id = await addOneReady(db, { queue, runs: 2, retryCount: 2, options: { retry: null } });

    const reply = await db.store.prefetch(await db.connect(), request([lane(queue)]));

    const { active } = await placesOf(db, id);
    expect(active).toMatchObject({
      started_at: null,
      attempt_no: 2,
      retry_count: 2,
      heartbeat_at: null,
    });
    expect(Math.abs(msFromNow(active?.["claimed_at"]))).toBeLessThan(10_000);
    const lease = msFromNow(active?.["claim_expires_at"]) - msFromNow(active?.["claimed_at"]);
    expect(Math.abs(lease - 30_000)).toBeLessThanOrEqual(1);
    expect(reply.tasks).toMatchObject([
      { id, attemptNo: 2, retryCount: 2, options: '{"retry": null}' },
    ]);
  });

  test("gives every claim an id of its own", async () => {
    const queue = newQueue();
    await addReady(
      db,
      Array.from({ length: 20 }, () => ({ queue })),
    );

    const { tasks } = await db.store.prefetch(await db.connect(), request([lane(queue)], 20));

    expect(new Set(tasks.map(({ claimId }) => claimId)).size).toBe(20);
  });

  test.each(["claimAndStart", "prefetch"] as const)(
    "%s expires tasks past their deadline at the head of the queue, without an attempt",
    async (claim) => {
      const queue = newQueue();
      const [late = "", good = ""] = await addReady(db, [
        { queue, dueMs: -5_000, goodMs: -1_000, runs: 1, retryCount: 1 },
        { queue, dueMs: -4_000, goodMs: 60_000 },
      ]);

      const reply = await db.store[claim](await db.connect(), request([lane(queue)]));

      expect(reply.expired).toEqual([late]);
      expect(reply.tasks.map(({ id }) => id)).toEqual([good]);
      const { finished, attempts } = await placesOf(db, late);
      expect(finished).toMatchObject({
        status: "EXPIRED",
        attempt_no: 1,
        started_at: null,
        claimed_at: null,
        claim_id: null,
        error_code: "TASK_EXPIRED",
        error: { code: "TASK_EXPIRED" },
        result: null,
      });
      expect(attempts).toHaveLength(1);
    },
  );

  test("counts expired tasks against the limit, and takes nothing with a limit of 0", async () => {
    const queue = newQueue();
    await addReady(db, [
      { queue, dueMs: -5_000, goodMs: -1_000 },
      { queue, dueMs: -4_000 },
      { queue, dueMs: -3_000 },
    ]);
    const connection = await db.connect();

    const none = await db.store.claimAndStart(connection, request([lane(queue)], 0));
    const two = await db.store.claimAndStart(connection, request([lane(queue)], 2));

    expect([none.tasks, none.expired]).toEqual([[], []]);
    expect([two.tasks.length, two.expired.length]).toEqual([1, 1]);
  });

  test("replies when the next task of the requested lanes is due, claimed or not", async () => {
    const [queue, other] = [newQueue(), newQueue()];
    await addReady(db, [
      { queue, priority: 1, dueMs: 900_000 },
      { queue, priority: 2, dueMs: 600_000 },
      { queue, priority: 3, dueMs: 300_000 },
      { queue: other, priority: 1, dueMs: 100_000 },
      { queue, priority: 1 },
    ]);
    const connection = await db.connect();
    const nextDueMs = async (...lanes: ClaimLane[]): Promise<number | null> =>
      (await db.store.claimAndStart(connection, request(lanes))).nextDueMs;

    const withClaim = await nextDueMs(lane(queue, 1), lane(queue, 2));
    const withoutClaim = await nextDueMs(lane(queue, 1), lane(queue, 2));

    for (const answer of [withClaim, withoutClaim]) {
      expect(answer).toBeGreaterThan(590_000);
      expect(answer).toBeLessThanOrEqual(600_000);
    }
    expect(await nextDueMs(lane(newQueue()))).toBeNull();
  });

  test("sees no task below a mark, and all on it and above it", async () => {
    const queue = newQueue();
    const [below = "", on = "", above = ""] = await addReady(db, [
      { queue, dueMs: -3_000 },
      { queue, dueMs: -2_000 },
      { queue, dueMs: -1_000 },
    ]);
    const [row] = await db.sql<{ mark: number }>(
      "select (extract(epoch from enqueued_at) * 1000)::float8 as mark from posthaste.ready_tasks where task_id = $1",
      [on],
    );
    const connection = await db.connect();

    const marked = await db.store.claimAndStart(connection, request([lane(queue, 100, row?.mark)]));
    const unmarked = await db.store.claimAndStart(connection, request([lane(queue)]));

    expect(marked.tasks.map(({ id }) => id).sort()).toEqual([on, above].sort());
    expect(unmarked.tasks.map(({ id }) => id)).toEqual([below]);
  });

  test("replies with a time that serves as a mark for the same task", async () => {
    const queue = newQueue();
    const id = await addOneReady(db, { queue });
    const connection = await db.connect();

    const first = await db.store.prefetch(connection, request([lane(queue)]));
    await db.sql("select posthaste.requeue($1)", [id]);
    const mark = first.tasks[0]?.enqueuedAt ?? Infinity;
    const again = await db.store.prefetch(connection, request([lane(queue, 100, mark)]));

    expect(again.tasks.map((task) => task.id)).toEqual([id]);
  });

  test("two claimers at once take 2,000 tasks and share none", async () => {
    const queue = newQueue();
    const ids = await addReady(
      db,
      Array.from({ length: 2_000 }, (_, n) => ({ queue, priority: 1 + (n % 2) })),
    );
    const claimAll = async (): Promise<string[]> => {
      const connection = await db.connect();
      const taken: string[] = [];
      for (;;) {
        const asked = request([lane(queue, 1), lane(queue, 2)], 25);
        const { tasks } = await db.store.claimAndStart(connection, asked);
        if (tasks.length === 0) return taken;
        taken.push(...tasks.map(({ id }) => id));
      }
    };

    const [one, two] = await Promise.all([claimAll(), claimAll()]);

    expect(one.length).toBeGreaterThan(0);
    expect(two.length).toBeGreaterThan(0);
    expect([...one, ...two].sort()).toEqual([...ids].sort());
  });

  test("changes nothing when it is rolled back", async () => {
    const queue = newQueue();
    const ids = await addReady(db, [{ queue }, { queue, goodMs: -500 }, { queue }]);
    const places = async (): Promise<Places[]> => {
      const all: Places[] = [];
      for (const id of ids) all.push(await placesOf(db, id));
      return all;
    };
    const before = await places();
    const connection = await db.connect();

    await expect(
      inOneTransaction(connection, async () => {
        const { tasks, expired } = await db.store.claimAndStart(connection, request([lane(queue)]));
        expect([tasks.length, expired.length]).toEqual([2, 1]);
        throw new Error("and then the power went");
      }),
    ).rejects.toThrow("and then the power went");

    expect(await places()).toEqual(before);
  });

  test("skips the uncommitted claims of another claimer without waiting", async () => {
    const queue = newQueue();
    await addReady(db, [{ queue }, { queue }, { queue }]);
    const [holder, other] = [await db.connect(), await db.connect()];

    await holder.query(BEGIN);
    const held = await db.store.claimAndStart(holder, request([lane(queue)], 2));
    const free = await db.store.claimAndStart(other, request([lane(queue)], 2));

    expect(held.tasks).toHaveLength(2);
    expect(free.tasks).toHaveLength(1);
    expect(held.tasks.map(({ id }) => id)).not.toContain(free.tasks[0]?.id);
  });

  test("surveyLanes finds the lanes in use, with the time and due time of their first task", async () => {
    const [queue, other, empty] = [newQueue(), newQueue(), newQueue()];
    await addReady(db, [
      { queue, priority: 5, dueMs: -4_000 },
      { queue, priority: 5, dueMs: -9_000 },
      { queue, priority: 90, dueMs: 60_000 },
      { queue: other, priority: 1, dueMs: 120_000 },
      { queue: other, priority: 1, dueMs: 60_000 },
      { queue: newQueue(), priority: 1 },
    ]);

    const lanes = await db.store.surveyLanes(await db.connect(), [queue, empty, other]);

    const found = lanes.map((each) => [each.queue, each.priority, Math.round(each.dueMs / 10_000)]);
    expect(found).toHaveLength(3);
    expect(found).toEqual(
      expect.arrayContaining([
        [queue, 5, -1],
        [queue, 90, 6],
        [other, 1, 6],
      ]),
    );
    for (const { firstEnqueuedAt, dueMs } of lanes) {
      expect(Math.abs(firstEnqueuedAt - Date.now() - dueMs)).toBeLessThan(20_000);
    }
  });
});
