/** A prefetched task is stored as CLAIMED, unless its worker asks for RUNNING and the task allows it. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { ClaimRequest } from "../../src/store/queries/claim/claim-tasks.ts";
import { noRules } from "../../src/store/queries/claim/pick-ready.ts";
import { useDatabase } from "../support/database.ts";
import { addOneReady, newQueue, placesOf, type ReadySeed } from "./task-rows.ts";

const db = useDatabase();
const again = { onCrash: "requeue" };

async function fetchAhead(seed: ReadySeed, asked: Partial<ClaimRequest> = {}) {
  const queue = newQueue();
  const id = await addOneReady(db, { queue, ...seed });
  const lane = { queue: seed.queue ?? queue, priority: 100, mark: -Infinity };
  const workerId = randomUUID();
  const request = { lanes: [lane], limit: 10, workerId, leaseMs: 30_000, startsAhead: true };
  const { tasks } = await db.store.prefetch(await db.connect(), { ...request, ...asked });
  return { task: tasks[0], active: (await placesOf(db, id)).active };
}

describe("prefetch with startsAhead", () => {
  test.each([
    ["before its first attempt", { options: again }],
    ["after a failed attempt", { options: again, runs: 1, retryCount: 1 }],
    ["with room for two crashes", { options: { ...again, maxCrashes: 3 } }],
  ])("stores a task as RUNNING whose onCrash is requeue, %s", async (_, seed: ReadySeed) => {
    const { task, active } = await fetchAhead(seed);
    expect(task).toMatchObject({ isStoredRunning: true, attemptNo: (seed.runs ?? 0) + 1 });
    expect(active).toMatchObject({
      attempt_no: (seed.runs ?? 0) + 1,
      started_at: expect.any(String),
      claimed_at: null,
      claim_expires_at: null,
      claim_id: task?.claimId,
    });
  });

  test.each<[string, ReadySeed, Partial<ClaimRequest>]>([
    ["its worker did not ask for it", { options: again }, { startsAhead: false }],
    ["it has no onCrash", {}, {}],
    ["its onCrash is fail", { options: { onCrash: "fail" } }, {}],
    ["its options are invalid", { options: "requeue" }, {}],
    ["it has a deadline", { options: again, goodMs: 60_000 }, {}],
    ["it has been in a crash", { options: again, runs: 1, crashCount: 1 }, {}],
    ["its maxCrashes is 2", { options: { ...again, maxCrashes: 2 } }, {}],
  ])("stores a task as CLAIMED if %s", async (_, seed, asked) => {
    const { task, active } = await fetchAhead(seed, asked);
    expect(task).toMatchObject({ isStoredRunning: false, attemptNo: seed.runs ?? 0 });
    expect(active).toMatchObject({ started_at: null, claim_expires_at: expect.any(String) });
  });

  test("stores a task of a capped queue as CLAIMED, and the others of the claim as RUNNING", async () => {
    const [narrow, wide] = [newQueue(), newQueue()];
    const ids = [
      await addOneReady(db, { queue: narrow, options: again }),
      await addOneReady(db, { queue: wide, options: again }),
    ];
    const lanes = [narrow, wide].map((queue) => ({ queue, priority: 100, mark: -Infinity }));
    const rules = { ...noRules, queueCaps: new Map([[narrow, 5]]), isSoft: true };
    const request = {
      lanes,
      limit: 10,
      workerId: randomUUID(),
      leaseMs: 30_000,
      startsAhead: true,
    };
    const { tasks } = await db.store.prefetch(await db.connect(), { ...request, rules });
    const started = new Map(tasks.map(({ id, isStoredRunning }) => [id, isStoredRunning]));
    expect(ids.map((id) => started.get(id))).toEqual([false, true]);
  });

  test("stores a node as CLAIMED", async () => {
    const queue = newQueue();
    const id = await addOneReady(db, { queue, options: again });
    await db.sql(
      "update posthaste.submissions set workflow_id = gen_random_uuid() where task_id = $1",
      [id],
    );
    const lanes = [{ queue, priority: 100, mark: -Infinity }];
    const request = {
      lanes,
      limit: 10,
      workerId: randomUUID(),
      leaseMs: 30_000,
      startsAhead: true,
    };
    const { tasks } = await db.store.prefetch(await db.connect(), request);
    expect(tasks).toMatchObject([{ id, isStoredRunning: false }]);
    await db.sql("update posthaste.submissions set workflow_id = null where task_id = $1", [id]);
  });
});
