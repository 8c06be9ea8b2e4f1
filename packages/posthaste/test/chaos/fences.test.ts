/**
 * One test for each condition that names a claim. In each a task was claimed, taken away and claimed again by the same
 * worker, so that neither the worker nor the state tells the two claims apart; then the first one speaks.
 * scripts/remove-fences.ts takes out one condition after the other, and each time one of these must fail.
 */
import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type { Connection } from "../../src/store/connection.ts";
import type { ClaimRequest } from "../../src/store/queries/claim/claim-tasks.ts";
import type { TaskEnd } from "../../src/store/queries/settle/settle-tasks.ts";
import { BEGIN } from "../../src/store/transaction.ts";
import { recovery, recoverySteps } from "../store/recovery-steps.ts";
import { addOneReady, newQueue, placesOf, type Claim, type Places } from "../store/task-rows.ts";
import { sendHeartbeat } from "../store/send-heartbeat.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);
const { store } = db;
const { find, apply } = recoverySteps(db);
const workerId = randomUUID();
let connection: Connection;

beforeEach(async () => {
  connection = await db.connect();
});

type Claiming = typeof store.claimAndStart;

function requestOf(queue: string): ClaimRequest {
  const lanes = [{ queue, priority: 100, mark: -Infinity }];
  return { lanes, limit: 1, workerId, leaseMs: 60_000 };
}

/** @returns two claims of one task: one that was lost, and the one that holds it now */
async function claimTwice(claim: Claiming): Promise<{ lost: Claim; held: Claim }> {
  const queue = newQueue();
  await addOneReady(db, { queue });
  const [lost] = (await claim(connection, requestOf(queue))).tasks;
  if (lost === undefined) throw new Error("nothing was claimed");
  await db.sql("select posthaste.requeue($1)", [lost.id]);
  const [held] = (await claim(connection, requestOf(queue))).tasks;
  if (held === undefined) throw new Error("nothing was claimed again");
  expect(held.id).toBe(lost.id);
  expect(held.claimId).not.toBe(lost.claimId);
  return { lost, held };
}

const settled: Omit<TaskEnd, "id" | "claimId"> = { edge: "succeed", ran: true, result: "1" };

/** Whatever `speak` says in the name of the lost claim changes nothing. */
async function expectUntouched(
  { lost }: { lost: Claim },
  speak: () => Promise<unknown>,
): Promise<void> {
  const before: Places = await placesOf(db, lost.id);
  await speak();
  expect(await placesOf(db, lost.id)).toEqual(before);
}

describe("an end", () => {
  test.each([
    ["a failure", { edge: "fail", ran: true, error: '{"code":"X","message":"x"}', code: "X" }],
    ["a retry", { edge: "retry", ran: true, delayMs: 0, code: "X" }],
    ["a requeue", { edge: "requeue", ran: true }],
  ] as const)("settle, %s", async (_, end) => {
    const claims = await claimTwice(store.claimAndStart);
    await expectUntouched(claims, async () => {
      const reply = await store.settleTasks(connection, [{ ...claims.lost, ...end }]);
      expect(reply.settled).toBe(0);
    });
  });

  test("settle, a release", async () => {
    const claims = await claimTwice(store.prefetch);
    await expectUntouched(claims, async () => {
      const release = { ...claims.lost, edge: "release", ran: false } as const;
      expect((await store.settleTasks(connection, [release])).settled).toBe(0);
    });
  });

  test("complete", async () => {
    const claims = await claimTwice(store.claimAndStart);
    await expectUntouched(claims, async () => {
      const reply = await store.settleTasks(connection, [{ ...claims.lost, ...settled }]);
      expect(reply.settled).toBe(0);
    });
  });

  test("complete and claim", async () => {
    const claims = await claimTwice(store.claimAndStart);
    await expectUntouched(claims, async () => {
      const ends = [{ ...claims.lost, ...settled }];
      const reply = await store.completeAndClaim(connection, ends, requestOf(newQueue()));
      expect(reply.settle.settled).toBe(0);
    });
  });

  test("drop the claim of a task that has ended", async () => {
    const claims = await claimTwice(store.claimAndStart);
    await db.sql(
      "insert into posthaste.finished_tasks (task_id, finished_at, result) values ($1, now(), '1')",
      [claims.held.id],
    );
    await expectUntouched(claims, () => store.dropEndedClaim(connection, claims.lost));
    expect(await store.dropEndedClaim(connection, claims.held)).toBe("COMPLETED");
    expect(await db.sql("select from posthaste.active_tasks")).toEqual([]);
    await db.sql("delete from posthaste.attempts");
  });

  test("complete with effects", async () => {
    const claims = await claimTwice(store.claimAndStart);
    await expectUntouched(claims, async () => {
      const answer = await store.completeWithEffects.complete(connection, claims.lost, "1", null);
      expect(answer).toBe("lost");
    });
  });

  test("complete with effects does not take another claim's cancellation for its own", async () => {
    const { lost } = await claimTwice(store.claimAndStart);
    await db.sql("select posthaste.cancel($1)", [lost.id]);
    expect(await store.completeWithEffects.complete(connection, lost, "1", null)).toBe("lost");
  });
});

describe("the fate of a completion whose transaction was cut", () => {
  test("another claim's row that nobody has locked is not one's own, undone", async () => {
    const { lost } = await claimTwice(store.claimAndStart);
    expect(await store.completeWithEffects.fate(connection, lost)).toBe("lost");
  });

  test("another claim's end is not one's own, committed", async () => {
    const { lost, held } = await claimTwice(store.claimAndStart);
    await store.settleTasks(connection, [{ ...held, ...settled }]);
    expect(await store.completeWithEffects.fate(connection, lost)).toBe("lost");
  });

  test("another claim's row that somebody has locked is not one's own, open", async () => {
    const { lost, held } = await claimTwice(store.claimAndStart);
    const other = await db.connect();
    await other.query(BEGIN);
    await store.completeWithEffects.complete(other, held, "1", null);
    expect(await store.completeWithEffects.fate(connection, lost)).toBe("lost");
  });
});

test("start", async () => {
  const claims = await claimTwice(store.prefetch);
  await expectUntouched(claims, async () => {
    expect((await store.startTasks(connection, [claims.lost])).started).toEqual([]);
  });
});

test.each([
  ["runner", "claimAndStart"],
  ["claimer", "prefetch"],
] as const)("heartbeat of a %s", async (role, claim) => {
  const claims = await claimTwice(store[claim]);
  await expectUntouched(claims, async () => {
    expect([...(await sendHeartbeat(store, connection, [claims.lost], { role }))]).toEqual([]);
  });
  expect(await db.sql("select from posthaste.heartbeats")).toEqual([]);
});

test("what was cancelled", async () => {
  const { lost } = await claimTwice(store.claimAndStart);
  await db.sql("select posthaste.cancel($1)", [lost.id]);
  expect(await store.storedClaims.cancelled(connection, [lost])).toEqual([]);
});

test("adoption of a claim whose acknowledgement was lost", async () => {
  const { lost } = await claimTwice(store.claimAndStart);
  expect(await store.storedClaims.adopt(connection, [lost])).toEqual([]);
});

describe("progress", () => {
  test("of a task that another claim runs", async () => {
    const { lost } = await claimTwice(store.claimAndStart);
    await store.reportProgress.write(connection, [{ ...lost, value: "1" }]);
    expect(await store.reportProgress.read(connection, lost.id)).toBeUndefined();
  });

  test("of a task that another claim has ended", async () => {
    const { lost, held } = await claimTwice(store.claimAndStart);
    await store.settleTasks(connection, [{ ...held, ...settled }]);
    await store.reportProgress.write(connection, [{ ...lost, value: "1" }]);
    expect(await store.reportProgress.read(connection, lost.id)).toBeUndefined();
  });
});

test("the send of a child", async () => {
  const { lost, held } = await claimTwice(store.claimAndStart);
  expect([...(await store.holdParents(connection, [lost]))]).toEqual([]);
  expect([...(await store.holdParents(connection, [held]))]).toHaveLength(1);
});

describe("recovery", () => {
  const silent = { cause: "run stale", thresholdMs: 0, multiplier: 1, flags: [] } as const;

  async function claimTwiceLongAgo(): Promise<{ lost: Claim; held: Claim }> {
    const claims = await claimTwice(store.claimAndStart);
    await db.sql(
      "update posthaste.active_tasks set enqueued_at = 'epoch', started_at = 'epoch' where task_id = $1",
      [claims.lost.id],
    );
    return claims;
  }

  test("of a claim that was judged before the task changed hands", async () => {
    const claims = await claimTwiceLongAgo();
    await expectUntouched(claims, async () => {
      expect(await apply(silent, recovery(claims.lost, { decision: "fail" }))).toEqual([]);
    });
  });

  test("another claim that is to be left alone does not protect this one", async () => {
    const { lost, held } = await claimTwiceLongAgo();
    await db.sql("update posthaste.active_tasks set claim_id = $2 where task_id = $1", [
      lost.id,
      lost.claimId,
    ]);
    await apply(silent, recovery(lost, { decision: "skip", delayMs: 60_000 }));
    expect(await find(silent)).toEqual([]);
    await db.sql("update posthaste.active_tasks set claim_id = $2 where task_id = $1", [
      held.id,
      held.claimId,
    ]);
    expect(await find(silent)).toMatchObject([{ id: held.id, claimId: held.claimId }]);
  });

  test("at a shutdown, of a claim that is not held any more", async () => {
    const { lost, held } = await claimTwice(store.claimAndStart);
    expect(await find({ cause: "shutdown", claims: [lost] })).toEqual([]);
    expect(await find({ cause: "shutdown", claims: [held] })).toHaveLength(1);
  });
});

describe("whether an end was one's own", () => {
  test("another claim's end is not", async () => {
    const { lost, held } = await claimTwice(store.claimAndStart);
    await store.settleTasks(connection, [{ ...held, ...settled }]);
    expect([...(await store.findOwnCommits(connection, [lost]))]).toEqual([]);
  });

  test("another claim's failed attempt is not", async () => {
    const { lost, held } = await claimTwice(store.claimAndStart);
    await store.settleTasks(connection, [{ ...held, edge: "retry", ran: true, delayMs: 0 }]);
    expect([...(await store.findOwnCommits(connection, [lost]))]).toEqual([]);
  });
});
