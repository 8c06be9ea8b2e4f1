import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ClaimLane, ClaimRequest } from "../../src/store/queries/claim/claim-tasks.ts";
import { noRules, type ClaimRules } from "../../src/store/queries/claim/pick-ready.ts";
import { BEGIN, COMMIT } from "../../src/store/transaction.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { addActive, addReady } from "./task-rows.ts";

const db = useDatabase();
useCleanTables(db);
const workerId = randomUUID();

const QUEUES = ["a", "b", "c"] as const;

/** Few values for each field, so that ties and neighbours are frequent. */
const randomCase = fc.record({
  tasks: fc.array(
    fc.record({
      queue: fc.constantFrom(...QUEUES),
      priority: fc.constantFrom(1, 100),
      dueMinutes: fc.constantFrom(-30, -20, -10, 10),
      name: fc.constantFrom("known", "known", "unknown"),
    }),
    { maxLength: 30, size: "max" },
  ),
  held: fc.array(
    fc.record({
      queue: fc.constantFrom(...QUEUES),
      state: fc.constantFrom("RUNNING", "CLAIMED", "LEASE OVER"),
    }),
    { maxLength: 6 },
  ),
  /** Queues of one rank are emptied together. */
  ranks: fc.record({
    a: fc.constantFrom(1, 2),
    b: fc.constantFrom(1, 2),
    c: fc.constantFrom(1, 2),
  }),
  caps: fc.record({
    a: fc.option(fc.integer({ min: 1, max: 4 })),
    b: fc.option(fc.integer({ min: 1, max: 4 })),
  }),
  cluster: fc.option(fc.integer({ min: 1, max: 8 })),
  batch: fc.constantFrom(0, 0, 1, 3),
  isSoft: fc.boolean(),
  isKnownOnly: fc.boolean(),
  limit: fc.integer({ min: 1, max: 12 }),
  /** How many rows are read of each lane: what lies behind is left for the next claim. */
  most: fc.option(fc.integer({ min: 1, max: 4 })),
});
type Case = typeof randomCase extends fc.Arbitrary<infer Value> ? Value : never;
type Waiting = Case["tasks"][number] & { readonly id: string };

function capsOf({ caps }: Case): Map<string, number> {
  return new Map(Object.entries(caps).flatMap(([q, cap]) => (cap === null ? [] : [[q, cap]])));
}

/** The rule, as plainly as it can be said: walk the line, take what every limit allows. */
function oracle(given: Case, waiting: readonly Waiting[]): Waiting[] {
  const counts = ({ state }: Case["held"][number]): boolean =>
    state === "RUNNING" || (state === "CLAIMED" && !given.isSoft);
  const load = given.held.filter(counts);
  const inLine = waiting
    .filter(({ dueMinutes, name }) => dueMinutes < 0 && !(given.isKnownOnly && name === "unknown"))
    .sort(
      (x, y) =>
        given.ranks[x.queue] - given.ranks[y.queue] ||
        x.priority - y.priority ||
        x.dueMinutes - y.dueMinutes ||
        (x.id < y.id ? -1 : 1),
    );
  const caps = capsOf(given);
  const taken: Waiting[] = [];
  for (const task of inLine) {
    const ofQueue = taken.filter(({ queue }) => queue === task.queue).length;
    const underWay = load.filter(({ queue }) => queue === task.queue).length + ofQueue;
    if (taken.length >= given.limit) break;
    if (given.cluster !== null && load.length + taken.length >= given.cluster) break;
    if (underWay >= (caps.get(task.queue) ?? Infinity)) continue;
    if (given.batch > 0 && ofQueue >= given.batch) continue;
    taken.push(task);
  }
  return taken;
}

function requestOf(given: Case): ClaimRequest {
  const lanes: ClaimLane[] = QUEUES.flatMap((queue) =>
    [1, 100].map((priority) => ({
      queue,
      priority,
      place: given.ranks[queue] * 1000 + priority,
      mark: -Infinity,
    })),
  );
  const rules: ClaimRules = {
    queueCaps: capsOf(given),
    clusterWideCap: given.cluster,
    maxClaimBatch: given.batch,
    isSoft: given.isSoft,
    unknownNames: given.isKnownOnly ? ["unknown"] : null,
  };
  const most = given.most === null ? undefined : lanes.map(() => given.most ?? 0);
  return { lanes, limit: given.limit, workerId, leaseMs: 60_000, rules, most };
}

/** As if they had been claimed under a cap. */
const COUNT_ALL = `
  update posthaste.active_tasks as held set capped_queue = sent.queue
    from posthaste.submissions as sent where sent.task_id = held.task_id`;

describe("claim rules", () => {
  test("claim what the plain rule claims, in 300 random cases", async () => {
    const connection = await db.connect();
    await fc.assert(
      fc.asyncProperty(randomCase, async (given) => {
        await db.sql(
          "truncate posthaste.submissions, posthaste.ready_tasks, posthaste.active_tasks, posthaste.finished_tasks",
        );
        const ids = await addReady(
          db,
          given.tasks.map(({ queue, priority, name, dueMinutes }) => ({
            queue,
            priority,
            name,
            dueMs: dueMinutes * 60_000,
          })),
        );
        await addActive(
          db,
          given.held.map(({ queue, state }) => ({
            queue,
            status: state === "RUNNING" ? "RUNNING" : "CLAIMED",
          })),
        );
        await db.sql(COUNT_ALL);
        await db.sql(
          `update posthaste.active_tasks set claim_expires_at = now() - interval '1 second'
          where task_id = any (array(select task_id from posthaste.active_tasks where started_at is null limit $1))`,
          [given.held.filter(({ state }) => state === "LEASE OVER").length],
        );
        // Which of the claimed ones have lost their lease is PostgreSQL's choice: say it as it is.
        const held = await db.sql<Case["held"][number]>(
          `select capped_queue as queue, case when started_at is not null then 'RUNNING'
                            when claim_expires_at <= now() then 'LEASE OVER' else 'CLAIMED' end as state
           from posthaste.active_tasks`,
        );
        const waiting = given.tasks.map((task, n) => ({ ...task, id: ids[n] ?? "" }));
        const { tasks, isHeldBack, isFull } = await db.store.claimAndStart(
          connection,
          requestOf(given),
        );
        const taken = tasks.map(({ id }) => id).sort();
        const due = oracle({ ...given, held }, waiting).map(({ id }) => id);
        // All of it, or, where not every lane was read to its end, the first of it: never one that is not at its turn.
        expect(taken).toEqual(due.slice(0, taken.length).sort());
        if (taken.length < due.length) {
          expect(given.most).not.toBeNull();
          expect(isFull).toBe(true);
          expect(taken.length).toBeGreaterThan(0);
        }
        const isDue = ({ dueMinutes, name }: Waiting): boolean =>
          dueMinutes < 0 && !(given.isKnownOnly && name === "unknown");
        // Nothing that is due is forgotten: it was taken, or the worker knows that it has to ask again.
        if (waiting.filter(isDue).length > tasks.length) expect(isHeldBack || isFull).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("skip a row that another session holds, and take the next one", async () => {
    const [first, second] = await addReady(db, [
      { queue: "a", dueMs: -20_000 },
      { queue: "b", dueMs: -10_000 },
    ]);
    const [other, connection] = [await db.connect(), await db.connect()];
    const lanes = ["a", "b"].map((queue) => ({ queue, priority: 100, place: 1, mark: -Infinity }));
    const request = { lanes, limit: 1, workerId, leaseMs: 60_000, rules: noRules };
    await other.query(BEGIN);
    expect((await db.store.claimAndStart(other, request)).tasks).toMatchObject([{ id: first }]);
    const reply = await db.store.claimAndStart(connection, request);
    expect(reply.tasks).toMatchObject([{ id: second }]);
    const nothing = await db.store.claimAndStart(connection, { ...request, limit: 2 });
    expect(nothing).toMatchObject({ tasks: [], isFull: true });
    await other.query(COMMIT);
  });

  test("claim nothing of a paused queue with either statement, and survey without it", async () => {
    await addReady(db, [{ queue: "a" }, { queue: "b" }]);
    const connection = await db.connect();
    expect(await db.store.pauseQueues.pause(connection, "a")).toBe(true);
    expect(await db.store.pauseQueues.pause(connection, "a")).toBe(false);
    const lanes = ["a", "b"].map((queue) => ({ queue, priority: 100, place: 1, mark: -Infinity }));
    const request = { lanes, limit: 10, workerId, leaseMs: 60_000 };
    const found = await db.store.surveyLanes(connection, ["a", "b"]);
    expect(found.map(({ queue }) => queue)).toEqual(["b"]);
    const ranked = await db.store.prefetch(connection, { ...request, rules: noRules });
    expect(ranked.tasks.map(({ queue }) => queue)).toEqual(["b"]);
    expect((await db.store.claimAndStart(connection, request)).tasks).toEqual([]);
    expect(await db.store.pauseQueues.resume(connection, "a")).toBe(true);
    expect(await db.store.pauseQueues.resume(connection, "a")).toBe(false);
    expect((await db.store.claimAndStart(connection, request)).tasks).toHaveLength(1);
  });

  test("obey the caps of queues at a start, in the order of the request", async () => {
    const claims = await addActive(
      db,
      ["a", "a", "a", "b"].map((queue) => ({ queue, status: "CLAIMED" as const })),
    );
    await addActive(db, [{ queue: "a", status: "RUNNING" }]);
    await db.sql(COUNT_ALL);
    const connection = await db.connect();
    const asked = claims.toReversed();
    const reply = await db.store.startTasks(connection, asked, new Map([["a", 2]]));
    const ids = asked.map(({ id }) => id);
    expect(reply.started.map(({ id }) => id).sort()).toEqual(ids.slice(0, 2).sort());
    expect([...reply.heldBack].sort()).toEqual(ids.slice(2).sort());
  });

  test("leave the tasks of a paused queue unstarted, and report them", async () => {
    const [claim] = await addActive(db, [{ queue: "a", status: "CLAIMED" }]);
    const connection = await db.connect();
    await db.store.pauseQueues.pause(connection, "a");
    const reply = await db.store.startTasks(connection, claim === undefined ? [] : [claim]);
    expect(reply).toEqual({
      started: [],
      expired: [],
      lateNodes: [],
      heldBack: [],
      paused: [claim?.id],
    });
  });
});
