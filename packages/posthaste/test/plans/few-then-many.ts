/** Calls whose size varies, for sessions that made their plans for few rows and then get many. */
import { randomUUID } from "node:crypto";
import type { RecoveryCriteria } from "../../src/store/queries/recover/recovery-causes.ts";
import type { SettlingEdge } from "../../src/store/queries/settle/settle-tasks.ts";
import type { Profile } from "../../src/store/session-settings.ts";
import { sql, statement, type Db } from "../../src/store/sql.ts";
import { recovery } from "../store/recovery-steps.ts";
import { addActive, addReady, newQueue, type ActiveSeed, type Claim } from "../store/task-rows.ts";
import { sendHeartbeat } from "../store/send-heartbeat.ts";
import type { TestDatabase } from "../support/database.ts";

export interface SizedCall {
  readonly profile: Profile;
  /** Writes so many rows, and returns the call that is to be measured. */
  readonly prepare: (
    db: TestDatabase,
    rows: number,
  ) => Promise<(session: Db) => Promise<unknown>> | ((session: Db) => Promise<unknown>);
}

function list<Item>(length: number, item: (n: number) => Item): Item[] {
  return Array.from({ length }, (_, n) => item(n));
}

function newTasks(rows: number, isKeyed: boolean): string {
  const shared = { name: "some-task", queue: "default", priority: 100, input: {} };
  return JSON.stringify(
    list(rows, () => ({ id: randomUUID(), ...shared, ...(isKeyed && { key: randomUUID() }) })),
  );
}

function held(db: TestDatabase, rows: number, seed: ActiveSeed = {}): Promise<Claim[]> {
  return addActive(
    db,
    list(rows, () => seed),
  );
}

function settling(...edges: readonly SettlingEdge[]): SizedCall {
  const failure = { code: "BROKEN", error: '{"code":"BROKEN"}' };
  return {
    profile: "moves",
    async prepare(db, rows) {
      const claims = await held(db, rows);
      const ends = claims.map((claim, n) => {
        const edge = edges[n % edges.length] ?? "fail";
        return { ...claim, edge, ran: true, ...(edge === "succeed" ? { result: "1" } : failure) };
      });
      return (session) => db.store.settleTasks(session, ends);
    },
  };
}

const claiming: SizedCall = {
  profile: "moves",
  async prepare(db, rows) {
    const queue = newQueue();
    await addReady(
      db,
      list(rows, () => ({ queue, dueMs: -5_000 })),
    );
    const lanes = [{ queue, priority: 100, mark: -Infinity }];
    const request = { lanes, limit: rows, workerId: randomUUID(), leaseMs: 60_000 };
    return (session) => db.store.claimAndStart(session, request);
  },
};

/** Recovery finds tasks page by page, and moves them. */
function recovering(criteria: RecoveryCriteria, seed: ActiveSeed): SizedCall {
  return {
    profile: "reads",
    async prepare(db, rows) {
      await held(db, rows, seed);
      const page = { limit: rows, afterId: "00000000-0000-0000-0000-000000000000" };
      return async (session) => {
        const found = await db.store.recoverTasks.find(session, criteria, page);
        const decided = found.map(({ id, claimId }) =>
          recovery({ id, claimId }, { decision: "requeue", due: { delayMs: 5 } }),
        );
        await db.store.recoverTasks.apply(session, criteria, decided, "tester");
      };
    },
  };
}

const PRUNE = statement(sql`select posthaste.prune_ended_tasks_of_own_id(720, 720, 1000000)`);
const timed = { thresholdMs: 1_000, multiplier: 3, flags: [] } as const;

export const taskCalls: Readonly<Record<string, SizedCall>> = {
  "insert fresh": {
    profile: "sends",
    prepare: (db, rows) => {
      const tasks = newTasks(rows, false);
      return (session) => db.store.insertTasks.fresh(session, tasks);
    },
  },
  "insert missing": {
    profile: "sends",
    prepare: (db, rows) => {
      const tasks = newTasks(rows, true);
      return (session) => db.store.insertTasks.missing(session, tasks);
    },
  },
  "match submissions": {
    profile: "sends",
    async prepare(db, rows) {
      const tasks = newTasks(rows, true);
      await db.store.insertTasks.missing(await db.connect("sends"), tasks);
      return (session) => db.store.matchSubmissions(session, tasks);
    },
  },
  claim: claiming,
  start: {
    profile: "moves",
    async prepare(db, rows) {
      const claims = await held(db, rows, { status: "CLAIMED" });
      return (session) => db.store.startTasks(session, claims);
    },
  },
  "settle, all succeed": settling("succeed"),
  "settle, all edges": settling("succeed", "fail", "retry", "requeue"),
  heartbeat: {
    profile: "heartbeats",
    async prepare(db, rows) {
      const claims = await held(db, rows);
      return (session) => sendHeartbeat(db.store, session, claims);
    },
  },
  "adopt claims": {
    profile: "moves",
    async prepare(db, rows) {
      const claims = await held(db, rows);
      return (session) => db.store.storedClaims.adopt(session, claims);
    },
  },
  "report progress": {
    profile: "moves",
    async prepare(db, rows) {
      const reports = (await held(db, rows)).map((claim) => ({ ...claim, value: "1" }));
      return (session) => db.store.reportProgress.write(session, reports);
    },
  },
  "wait for results": {
    profile: "reads",
    async prepare(db, rows) {
      const ids = await addReady(
        db,
        list(rows, () => ({})),
      );
      await db.sql("select posthaste.fail(id, 'NO') from unnest($1::uuid[]) as id", [ids]);
      return async (session) => {
        await db.store.awaitResults.register(session, ids, "ph_channel");
        await db.store.awaitResults.read(session, ids);
        await db.store.awaitResults.notify(session, ids);
        await db.store.awaitResults.unregister(session, ids, "ph_channel");
      };
    },
  },
  "recover a silent worker's tasks": recovering(
    { cause: "run stale", ...timed },
    { heldMs: 60_000 },
  ),
  "recover expired leases": recovering(
    { cause: "lease expired" },
    { status: "CLAIMED", leaseMs: -1_000 },
  ),
  expire: {
    profile: "reads",
    async prepare(db, rows) {
      await addReady(
        db,
        list(rows, () => ({ goodMs: -1_000 })),
      );
      return (session) => db.store.expireTasks(session, rows);
    },
  },
  prune: {
    profile: "reads",
    async prepare(db, rows) {
      const ids = await addReady(
        db,
        list(rows, () => ({})),
      );
      await db.sql("select posthaste.fail(id, 'NO') from unnest($1::uuid[]) as id", [ids]);
      await db.sql("update posthaste.finished_tasks set finished_at = now() - interval '60 days'");
      return (session) => session.query(PRUNE);
    },
  },
};
