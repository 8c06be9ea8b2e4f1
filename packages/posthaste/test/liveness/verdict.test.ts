/** The conditions under which a worker is declared dead, and the false alarm that each condition prevents. */
import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { deathChannel } from "../../src/store/channels.ts";
import type { Connection } from "../../src/store/connection.ts";
import { lockClass } from "../../src/store/lock-keys.ts";
import type { BeatReply, MissingWorker } from "../../src/store/queries/worker/liveness.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();
useCleanTables(db);
const { liveness } = db.store;

/** Tests move rows into the past by this time and do not wait for it; a busy machine needs less from one statement to the next. */
const GRACE_MS = 5_000;
let checker: Connection;

beforeAll(async () => {
  // No worker is declared dead on a server that has not been up for the grace.
  const isUp = `select where now() - pg_postmaster_start_time() > $1 * interval '1 millisecond'`;
  await waitUntil("a server that has been up for the grace", async () => {
    return (await db.sql(isUp, [GRACE_MS])).length > 0;
  });
});

beforeEach(async () => {
  checker = await db.connect("heartbeats");
});

type Known = Pick<MissingWorker, "workerId" | "key">;

interface Registered extends Known {
  readonly session: Connection;
}

/** A worker whose session holds its lock, and which has just written a heartbeat. */
async function registered(): Promise<Registered> {
  const workerId = randomUUID();
  const session = await db.connect("heartbeats");
  await db.store.registerWorker.register(session, {
    workerId,
    name: "w",
    hostname: "h",
    pid: 1,
    version: "0",
    queues: ["default"],
    taskNames: [],
    concurrency: 1,
    livenessKey: null,
    metadata: {},
    config: {},
  });
  const key = await liveness.takeLock(session);
  await beat({ workerId, key, session });
  return { workerId, key, session };
}

function beat({ workerId, key, session }: Registered): Promise<unknown> {
  return liveness.beat(session, { workerId, key, loopBlockedMs: 0, leading: "no" });
}

/** Acts as if the worker's process ended: the kernel closes the socket, and PostgreSQL ends the session. */
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

/** Moves a stored time of the worker into the past. */
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

test("a worker whose process is gone is missing at once and dead after the grace, and a notification announces its death", async () => {
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

test("a dead worker stays dead: its heartbeat is refused, and its state does not become stopped", async () => {
  const worker = await registered();
  await gone(worker);
  await graceOver(worker);
  await liveness.declareDead(checker, worker, GRACE_MS);

  expect(await beat({ ...worker, session: checker })).toMatchObject({ state: null, leads: false });
  await db.store.registerWorker.setState(checker, worker.workerId, "stopped");
  expect(await stateOf(worker)).toBe("dead");
});

test("a worker that lost its session and is back under a new lock is not declared dead", async () => {
  const worker = await registered();
  await gone(worker);
  const session = await db.connect("heartbeats");
  const key = await liveness.takeLock(session);
  await beat({ ...worker, key, session });
  await graceOver(worker);

  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(false);
  expect(await look()).toEqual([]);
  const [row] = await db.sql("select lock_missing_since from posthaste.workers");
  expect(row).toEqual({ lock_missing_since: null });
});

test("a worker that came back and is killed before its new lock was seen is missing again", async () => {
  const worker = await registered();
  await gone(worker);
  const session = await db.connect("heartbeats");
  const again = { ...worker, key: await liveness.takeLock(session), session };
  await beat(again);
  session.destroy();
  // look() is not called before the session is gone: it would see the new lock and forget that the old lock was missing.
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

test("a worker without a lock that has written a heartbeat since is not declared dead", async () => {
  const worker = await registered();
  await gone(worker);
  await graceOver(worker);
  await beat({ ...worker, session: checker });

  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(false);
  expect(await stateOf(worker)).toBe("running");
});

test("a worker that was silent before its session ended, as a frozen process is, is not declared dead by its lock", async () => {
  const worker = await registered();
  await age(worker, "last_heartbeat_at", 6_000);
  await gone(worker);
  await graceOver(worker);

  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(false);
});

test("no worker is declared dead while the server has not been up for the grace", async () => {
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

test("a worker is not declared dead while another session holds its lock", async () => {
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

test("a worker without its own session is not missing when it holds no lock", async () => {
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

test("one worker leads, and another takes over when the leader is gone or steps down", async () => {
  const [one, two] = [await registered(), await registered()];
  expect(await ask(one)).toMatchObject({ leads: true });
  expect(await ask(two)).toMatchObject({ leads: false, stepsIn: false });
  await liveness.stepDown(one.session);
  expect(await ask(two)).toMatchObject({ leads: true });
  expect(await ask(one)).toMatchObject({ leads: false });
  await gone(two);
  expect(await ask(one)).toMatchObject({ leads: true });
});

test("exactly one worker steps in for a frozen leader that keeps the lock, until the leader writes a heartbeat", async () => {
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

test("a lock of another schema does not prevent a worker from being declared dead", async () => {
  const worker = await registered();
  const elsewhere = await db.connect("heartbeats");
  await elsewhere.query(statement(sql`select pg_advisory_lock($1::int, $2::int)`), [
    lockClass("elsewhere/liveness"),
    worker.key,
  ]);

  await gone(worker);
  await graceOver(worker);
  expect(await liveness.declareDead(checker, worker, GRACE_MS)).toBe(true);
});

test("takeLock gives each session a key that no other session holds", async () => {
  const keys = await Promise.all(
    Array.from({ length: 50 }, async () => liveness.takeLock(await db.connect("heartbeats"))),
  );
  expect(new Set(keys).size).toBe(50);
  expect(Math.min(...keys)).toBeGreaterThan(0);
});
