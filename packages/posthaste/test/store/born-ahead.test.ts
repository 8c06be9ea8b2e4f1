/** What is fetched ahead is born CLAIMED, unless its worker asks otherwise and nothing hangs on the difference. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { ClaimRequest } from "../../src/store/queries/claim-tasks.ts";
import { noRules } from "../../src/store/queries/pick-ready.ts";
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
  const { tasks } = await db.store.claimAhead(await db.connect(), { ...request, ...asked });
  return { task: tasks[0], active: (await placesOf(db, id)).active };
}

test.each([
  ["of its own accord", { options: again }],
  ["and that an attempt has failed before", { options: again, runs: 1, retryCount: 1 }],
  ["with room for two crashes", { options: { ...again, maxCrashes: 3 } }],
])("RUNNING, as an attempt, if it says that it may run again, %s", async (_, seed: ReadySeed) => {
  const { task, active } = await fetchAhead(seed);
  expect(task).toMatchObject({ isStarted: true, attemptNo: (seed.runs ?? 0) + 1 });
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
  ["it says nothing about crashes", {}, {}],
  ["it says something else", { options: { onCrash: "fail" } }, {}],
  ["its options are none", { options: "requeue" }, {}],
  ["it has a deadline", { options: again, goodMs: 60_000 }, {}],
  ["it has been in a crash", { options: again, runs: 1, crashCount: 1 }, {}],
  ["few crashes end it", { options: { ...again, maxCrashes: 2 } }, {}],
])("CLAIMED, if %s", async (_, seed, asked) => {
  const { task, active } = await fetchAhead(seed, asked);
  expect(task).toMatchObject({ isStarted: false, attemptNo: seed.runs ?? 0 });
  expect(active).toMatchObject({ started_at: null, claim_expires_at: expect.any(String) });
});

test("CLAIMED, if its queue has a cap; the others of the same claim are not concerned", async () => {
  const [narrow, wide] = [newQueue(), newQueue()];
  const ids = [
    await addOneReady(db, { queue: narrow, options: again }),
    await addOneReady(db, { queue: wide, options: again }),
  ];
  const lanes = [narrow, wide].map((queue) => ({ queue, priority: 100, mark: -Infinity }));
  const rules = { ...noRules, queueCaps: new Map([[narrow, 5]]), isSoft: true };
  const request = { lanes, limit: 10, workerId: randomUUID(), leaseMs: 30_000, startsAhead: true };
  const { tasks } = await db.store.claimAhead(await db.connect(), { ...request, rules });
  const started = new Map(tasks.map(({ id, isStarted }) => [id, isStarted]));
  expect(ids.map((id) => started.get(id))).toEqual([false, true]);
});

test("CLAIMED, if it is a node of a run", async () => {
  const queue = newQueue();
  const id = await addOneReady(db, { queue, options: again });
  await db.sql(
    "update posthaste.submissions set workflow_id = gen_random_uuid() where task_id = $1",
    [id],
  );
  const lanes = [{ queue, priority: 100, mark: -Infinity }];
  const request = { lanes, limit: 10, workerId: randomUUID(), leaseMs: 30_000, startsAhead: true };
  const { tasks } = await db.store.claimAhead(await db.connect(), request);
  expect(tasks).toMatchObject([{ id, isStarted: false }]);
  await db.sql("update posthaste.submissions set workflow_id = null where task_id = $1", [id]);
});
