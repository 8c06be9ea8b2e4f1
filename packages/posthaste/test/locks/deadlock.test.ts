/** Statements that lock several rows take them in the same order, or never wait: whatever overlaps, none deadlocks. */
import { randomUUID } from "node:crypto";
import { sendHeartbeat } from "../store/send-heartbeat.ts";
import { describe, expect, test } from "vitest";
import type { Connection } from "../../src/store/connection.ts";
import type { TaskEnd } from "../../src/store/queries/settle/settle-tasks.ts";
import { addReady, newQueue, type Claim } from "../store/task-rows.ts";
import { figures } from "../support/figures.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
const { store } = db;

const SECONDS = 3;
const queue = newQueue();
const workerId = randomUUID();

/** Calls over and over until told to stop; an error, a deadlock's above all, ends the test. */
class Loop {
  rounds = 0;
  isOver = false;
  readonly done: Promise<void>;

  constructor(turn: () => Promise<unknown>) {
    this.done = (async () => {
      for (; !this.isOver; this.rounds++) await turn();
    })();
    this.done.catch(() => undefined); // awaited by stop()
  }

  async stop(): Promise<number> {
    this.isOver = true;
    await this.done;
    return this.rounds;
  }
}

function claim(connection: Connection, limit: number, worker: string): Promise<Claim[]> {
  const lanes = [{ queue, priority: 100, mark: -Infinity }];
  return store
    .prefetch(connection, { lanes, limit, workerId: worker, leaseMs: 60_000 })
    .then(({ tasks }) => tasks);
}

function back(claims: readonly Claim[]): TaskEnd[] {
  return claims.map(({ id, claimId }) => ({ id, claimId, edge: "requeue", ran: true }));
}

/** Fresh tasks for those that were cancelled, and some that expire before a worker claims them. */
function supply(count: number): Promise<unknown> {
  return addReady(
    db,
    Array.from({ length: count }, (_, n) => (n % 4 === 0 ? { queue, goodMs: -1 } : { queue })),
  );
}

describe("lock order", () => {
  test("moves, heartbeats, cancels and claims of the same rows in any order never deadlock", async () => {
    const [one, other, heart, canceller, expirer, rival] = await Promise.all(
      (["moves", "moves", "moves", "reads", "reads", "moves"] as const).map((profile) =>
        db.connect(profile),
      ),
    );
    if (!one || !other || !heart || !canceller || !expirer || !rival) throw new Error("six asked");
    await supply(400);
    let current: readonly Claim[] = [];
    const won = { one: 0, other: 0 };
    const loops = {
      heart: new Loop(() => sendHeartbeat(store, heart, current.toReversed())),
      canceller: new Loop(async () => {
        const victim = current[Math.floor(Math.random() * current.length)];
        await store.cancelTask(canceller, victim?.id ?? randomUUID());
      }),
      expirer: new Loop(() => store.expireTasks(expirer, 20)),
      rival: new Loop(async () => {
        const claims = await claim(rival, 40, randomUUID());
        await store.startTasks(rival, claims);
        await store.settleTasks(rival, back(claims));
      }),
    };

    for (const end = Date.now() + SECONDS * 1_000; Date.now() < end;) {
      const claims = await claim(one, 150, workerId);
      current = claims;
      const backwards = claims.toReversed();
      const starts = await Promise.all([
        store.startTasks(other, backwards),
        store.startTasks(one, claims),
      ]);
      const [settledByOther, settledByOne] = await Promise.all([
        store.settleTasks(other, back(backwards)),
        store.settleTasks(one, back(claims)),
      ]);
      if (settledByOne.settled > settledByOther.settled) won.one++;
      else won.other++;
      const startedCount = starts.flatMap(({ started }) => started).length;
      expect(settledByOne.settled + settledByOther.settled).toBe(startedCount);
      await supply(30);
    }

    const rounds: Record<string, number> = {};
    for (const [name, loop] of Object.entries(loops)) rounds[name] = await loop.stop();
    figures("rounds without a deadlock", rounds);
    for (const [name, count] of Object.entries(rounds)) expect(count, name).toBeGreaterThan(20);
    expect(won.one).toBeGreaterThan(0);
    expect(won.other).toBeGreaterThan(0);
  });
});
