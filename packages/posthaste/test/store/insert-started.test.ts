import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { claimIdOf } from "../../src/store/queries/claim/claim-rows.ts";
import type { ClaimLane } from "../../src/store/queries/claim/claim-tasks.ts";
import { useDatabase } from "../support/database.ts";
import { addOneReady, newQueue, placesOf } from "./task-rows.ts";

const db = useDatabase();

interface Sent {
  readonly queue: string;
  readonly priority?: number;
  readonly starts?: boolean;
}

const laneOf = (queue: string, priority = 100): ClaimLane => ({ queue, priority, mark: -Infinity });

/** Sends them for a worker that looks into these lanes; says which of them it is to start. */
async function send(tasks: readonly Sent[], lanes: readonly ClaimLane[]) {
  const rows = tasks.map((task) => ({
    id: randomUUID(),
    name: "some-task",
    priority: 100,
    input: { n: 1 },
    starts: true,
    ...task,
  }));
  const claims = { workerId: randomUUID(), claimSeed: randomUUID(), lanes };
  const connection = await db.connect("sends");
  const started = await db.store.insertStarted(connection, JSON.stringify(rows), claims);
  return { ids: rows.map(({ id }) => id), claims, started };
}

describe("insertStarted", () => {
  test("stores a task as RUNNING under its worker's claim, sent and started at one time", async () => {
    const queue = newQueue();
    const { ids, claims, started } = await send([{ queue }], [laneOf(queue)]);
    const [id = ""] = ids;
    expect(started.ids).toEqual([id]);
    const [task] = await db.sql(
      `select status, worker_id, claim_id, attempt_no, retry_count, sent_at = started_at and sent_at = enqueued_at as "atOnce",
            date_part('epoch', started_at) * 1000 as at
       from posthaste.tasks where id = $1`,
      [id],
    );
    expect(task).toEqual({
      status: "RUNNING",
      worker_id: claims.workerId,
      claim_id: claimIdOf(claims.claimSeed, id),
      attempt_no: 1,
      retry_count: 0,
      atOnce: true,
      at: started.at,
    });
    expect(await placesOf(db, id)).toMatchObject({ ready: null, finished: null });
  });

  test("stores a task that must not start as waiting, in the same statement", async () => {
    const queue = newQueue();
    const { ids, started } = await send([{ queue }, { queue, starts: false }], [laneOf(queue)]);
    expect(started.ids).toEqual(ids.slice(0, 1));
    expect(await placesOf(db, ids[1] ?? "")).toMatchObject({
      ready: { attempt_no: null },
      active: null,
    });
  });

  test.each([
    ["of its own lane", {}],
    ["of a less urgent lane", { priority: 100 }],
    ["that came back", { runs: 1 }],
  ])("starts nothing while a due task %s waits", async (_, seed) => {
    const queue = newQueue();
    await addOneReady(db, { queue, priority: 7, dueMs: -10, ...seed });
    const lanes = [laneOf(queue, 7), laneOf(queue, 100)];
    const { ids, started } = await send([{ queue, priority: 7 }], lanes);
    expect(started.ids).toEqual([]);
    expect(await placesOf(db, ids[0] ?? "")).toMatchObject({
      ready: { attempt_no: null },
      active: null,
    });
  });

  test.each([
    ["due later", { dueMs: 60_000 }],
    ["below the mark", { dueMs: -60_000 }],
  ])("starts a task although one that is %s waits", async (_, seed) => {
    const queue = newQueue();
    await addOneReady(db, { queue, ...seed });
    const lanes = [{ ...laneOf(queue), mark: Date.now() - 30_000 }];
    const { ids, started } = await send([{ queue }], lanes);
    expect(started.ids).toEqual(ids);
  });

  test("starts nothing in a paused queue, which does not delay another queue", async () => {
    const [paused, open] = [newQueue(), newQueue()];
    await addOneReady(db, { queue: paused, dueMs: -10 });
    await db.sql("insert into posthaste.queues values ($1, now())", [paused]);
    const { ids, started } = await send(
      [{ queue: paused }, { queue: open }],
      [laneOf(paused), laneOf(open)],
    );
    expect(started.ids).toEqual(ids.slice(1));
  });

  test("fails as a whole when an id exists", async () => {
    const queue = newQueue();
    const { ids } = await send([{ queue }], [laneOf(queue)]);
    const again = [{ id: ids[0], name: "t", queue, priority: 1, input: 1, starts: true }];
    const claims = { workerId: randomUUID(), claimSeed: randomUUID(), lanes: [laneOf(queue)] };
    const connection = await db.connect("sends");
    await expect(
      db.store.insertStarted(connection, JSON.stringify(again), claims),
    ).rejects.toMatchObject({ code: "23505" });
  });
});
