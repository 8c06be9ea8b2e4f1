/** When a worker is called dead, and every false alarm that one of the conditions prevents. */
import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { deathChannel } from "../../src/store/channels.ts";
import type { Connection } from "../../src/store/connection.ts";
import { lockClass } from "../../src/store/lock-keys.ts";
import type { BeatReply, MissingWorker } from "../../src/store/queries/liveness.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();
useCleanTables(db);
const { liveness } = db.store;

/** Rows are aged by it, so nobody waits for it; a busy machine takes less time than this from one statement to the next. */
const GRACE_MS = 5_000;
let checker: Connection;

beforeAll(async () => {
  // Nobody is judged on a server that has not been up for the grace.
  const isUp = `select where now() - pg_postmaster_start_time() > $1 * interval '1 millisecond'`;
  await waitUntil("a server that has been up for the grace", async () => {
    return (await db.sql(isUp, [GRACE_MS])).length > 0;
  });
});

beforeEach(async () => {
  checker = await db.connect("vouches");
});

type Known = Pick<MissingWorker, "workerId" | "key">;

interface Registered extends Known {
  readonly session: Connection;
}

/** A worker whose session holds its lock, and which has just been heard. */
async function registered(): Promise<Registered> {
  const workerId = randomUUID();
  const session = await db.connect("vouches");
  await db.store.registerWorker.register(session, {
    workerId,
    name: "w",
    hostname: "h",
    pid: 1,
    version: "0",
    queues: ["default"],
    taskNames: [],
    concurrency: 1,
    metadata: {},
  });
  const key = await liveness.takeLock(session);
  await beat({ workerId, key, session });
  return { workerId, key, session };
}

function beat({ workerId, key, session }: Registered): Promise<unknown> {
  return liveness.beat(session, { workerId, key, loopBlockedMs: 0, leading: "no" });
}

/** Its process is gone: the kernel closes the socket, PostgreSQL ends the session. */
async function gone(worker: Registered): Promise<void> {
  worker.session.destroy();
  await expect
    .poll(async () => (await look()).map(({ workerId }) => workerId))
    .toContain(worker.workerId);
}

const look = async (): Promise<readonly MissingWorker[]> =>
  (await liveness.look(checker, randomUUID())).missing;

async function stateOf({ workerId }: Known): Promise<unknown> {
  const [row] = await db.sql("select state from posthaste.workers where worker_id = $1", [
    workerId,
  ]);
  return row?.["state"];
}

/** Moves what is remembered of the worker into the past. */
async function age(worker: Known, column: string, ms: number): Promise<void> {
  await db.sql(
    `update posthaste.workers set ${column} = ${column} - $2 * interval '1 millisecond' where worker_id = $1`,
    [worker.workerId, ms],
  );
}

async function graceOver(worker: Known): Promise<void> {
  await age(worker, "lock_missing_since", GRACE_MS);
  await age(worker, "lock_missing_beat", GRACE_MS);
  await age(worker, "last_heartbeat_at", GRACE_MS);
}

test("a process that is gone is missed at once, and dead when its grace is over; everybody is told", async () => {
  const worker = await registered();
  expect(await look()).toEqual([]);
  const heard: string[] = [];
  const ear = await db.connect("reads");
  await ear.listen(deathChannel("posthaste"));
  ear.onNotification((_, payload) => heard.push(payload));

  await gone(worker);
  expect(await liveness.declareDead(checker, worker, 60_000)).toBe(false);
  await graceOver(worker);
  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(true);

  expect(await stateOf(worker)).toBe("dead");
  expect(await look()).toEqual([]);
  await expect.poll(() => heard).toEqual([worker.workerId]);
  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(false);
});

test("the dead stay dead: their heartbeat is refused, and so is their goodbye", async () => {
  const worker = await registered();
  await gone(worker);
  await graceOver(worker);
  await liveness.declareDead(checker, worker, GRACE_MS);

  expect(await beat({ ...worker, session: checker })).toMatchObject({ state: null, leads: false });
  await db.store.registerWorker.setState(checker, worker.workerId, "stopped");
  expect(await stateOf(worker)).toBe("dead");
});

test("false alarm: its session was lost, and it is back under a new lock", async () => {
  const worker = await registered();
  await gone(worker);
  const session = await db.connect("vouches");
  const key = await liveness.takeLock(session);
  await beat({ ...worker, key, session });
  await graceOver(worker);

  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(false);
  expect(await look()).toEqual([]);
  const [row] = await db.sql("select lock_missing_since from posthaste.workers");
  expect(row).toEqual({ lock_missing_since: null });
});

test("one that came back and is killed before anybody has seen its new lock is missed anew", async () => {
  const worker = await registered();
  await gone(worker);
  const session = await db.connect("vouches");
  const again = { ...worker, key: await liveness.takeLock(session), session };
  await beat(again);
  session.destroy();
  // No look before it is gone: that would see the lock, and forget that the one before was missing.
  await expect
    .poll(() =>
      db.sql("select from pg_locks where locktype = 'advisory' and objid = $1", [again.key]),
    )
    .toEqual([]);
  expect(await look()).toMatchObject([{ workerId: worker.workerId, key: again.key }]);

  expect(await liveness.declareDead(checker, again, GRACE_MS)).toBe(false);
  await graceOver(again);
  expect(await liveness.declareDead(checker, again, GRACE_MS)).toBe(true);
});

test("false alarm: it has no lock, but it was heard since", async () => {
  const worker = await registered();
  await gone(worker);
  await graceOver(worker);
  await beat({ ...worker, session: checker });

  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(false);
  expect(await stateOf(worker)).toBe("running");
});

test("false alarm: it had been silent when its session ended, as a frozen process is: heartbeats decide", async () => {
  const worker = await registered();
  await age(worker, "last_heartbeat_at", 6_000);
  await gone(worker);
  await graceOver(worker);

  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(false);
});

test("false alarm: the server itself has not been up for the grace", async () => {
  const worker = await registered();
  await gone(worker);
  const [row] = await db.sql<{ up: number }>(
    "select extract(epoch from now() - pg_postmaster_start_time())::float8 * 1000 as up",
  );
  const longer = (row?.up ?? 0) + 60_000;
  for (const column of ["lock_missing_since", "lock_missing_beat", "last_heartbeat_at"])
    await age(worker, column, longer + 60_000);

  expect(await liveness.declareDead(checker, worker, longer)).toBe(false);
  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(true);
});

test("false alarm: somebody holds that very lock at the moment of the verdict", async () => {
  const worker = await registered();
  await gone(worker);
  await graceOver(worker);
  await db.sql("select pg_advisory_lock($1::int, $2::int)", [
    lockClass("posthaste/liveness"),
    worker.key,
  ]);

  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(false);
  await db.sql("select pg_advisory_unlock_all()");
  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(true);
});

test("a worker without a session of its own is not judged by a lock", async () => {
  const worker = await registered();
  await liveness.beat(worker.session, {
    workerId: worker.workerId,
    key: null,
    loopBlockedMs: 0,
    leading: "no",
  });
  worker.session.destroy();
  const [row] = await db.sql("select liveness_key from posthaste.workers");
  expect(row).toEqual({ liveness_key: null });
  expect(await look()).toEqual([]);
});

const ask = ({ workerId, key, session }: Registered): Promise<BeatReply> =>
  liveness.beat(session, { workerId, key, loopBlockedMs: 0, leading: "wants to" });

test("one looks after the others: the second becomes it when the first is gone or steps down", async () => {
  const [one, two] = [await registered(), await registered()];
  expect(await ask(one)).toMatchObject({ leads: true });
  expect(await ask(two)).toMatchObject({ leads: false, stepsIn: false });
  await liveness.stepDown(one.session);
  expect(await ask(two)).toMatchObject({ leads: true });
  expect(await ask(one)).toMatchObject({ leads: false });
  await gone(two);
  expect(await ask(one)).toMatchObject({ leads: true });
});

test("for one that is frozen and keeps the lock, exactly one steps in, until it is heard again", async () => {
  const three = [await registered(), await registered(), await registered()];
  const [frozen, ...others] = three.sort((a, b) => (a.workerId < b.workerId ? -1 : 1));
  if (frozen === undefined) throw new Error("three were asked for");
  expect(await ask(frozen)).toMatchObject({ leads: true });
  expect(await Promise.all(others.map(ask))).toMatchObject([
    { leads: false, stepsIn: false },
    { leads: false, stepsIn: false },
  ]);

  await age(frozen, "leads_at", 10_000);
  await age(frozen, "last_heartbeat_at", 10_000);
  expect(await Promise.all(others.map(ask))).toMatchObject([
    { leads: false, stepsIn: true },
    { leads: false, stepsIn: false },
  ]);

  const { workerId, key, session } = frozen;
  await liveness.beat(session, { workerId, key, loopBlockedMs: 0, leading: "leads" });
  expect(await Promise.all(others.map(ask))).toMatchObject([
    { leads: false, stepsIn: false },
    { leads: false, stepsIn: false },
  ]);
});

test("another schema's locks are nobody's business here", async () => {
  const worker = await registered();
  const elsewhere = await db.connect("vouches");
  await elsewhere.query(statement(sql`select pg_advisory_lock($1::int, $2::int)`), [
    lockClass("elsewhere/liveness"),
    worker.key,
  ]);

  await gone(worker);
  await graceOver(worker);
  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(true);
});

test("keys differ from session to session, and none is taken that somebody holds", async () => {
  const keys = await Promise.all(
    Array.from({ length: 50 }, async () => liveness.takeLock(await db.connect("vouches"))),
  );
  expect(new Set(keys).size).toBe(50);
  expect(Math.min(...keys)).toBeGreaterThan(0);
});
