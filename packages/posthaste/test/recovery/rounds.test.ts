/** The schedule of the reaper: rounds, wakes, leadership, and rounds that do not judge silence. */
import { expect, test } from "vitest";
import { recoverTasks } from "../../src/recovery/recover-tasks.ts";
import { pause } from "../../src/runtime/pause.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { BEGIN, ROLLBACK } from "../../src/store/transaction.ts";
import { Reaper } from "../../src/recovery/reaper.ts";
import { runPasses, type ReaperOptions } from "../../src/recovery/passes.ts";
import { addActive, addOneActive, addOneReady, placesOf } from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";
import { SOON_MS } from "../support/soon.ts";
import { addWorker, useRecovery } from "./recovery-kit.ts";

const db = useDatabase();
useCleanTables(db);
const kit = useRecovery(db);

const HOUR_MS = 3_600_000;
const LOCK = statement(sql`lock table posthaste.active_tasks in access exclusive mode`);

function options(checkIntervalMs: number, over: Partial<ReaperOptions> = {}): ReaperOptions {
  const usual = kit.reaper();
  return { ...usual, recovery: { ...usual.recovery, checkIntervalMs }, ...over };
}

async function withReaper(given: ReaperOptions, use: (reaper: Reaper) => Promise<void>) {
  const reaper = new Reaper(given);
  try {
    await use(reaper);
  } finally {
    await reaper.stop();
  }
}

async function untilTaken(id: string): Promise<void> {
  await expect.poll(async () => (await placesOf(db, id)).active).toBeNull();
}

async function deadTask(): Promise<string> {
  const workerId = await addWorker(db, { state: "dead", missingMs: 2_000 });
  return (await addOneActive(db, { workerId })).id;
}

test("a woken reaper recovers the tasks of a dead worker at once, and leaves stale tasks to its next round", async () => {
  const id = await deadTask();
  const stale = await addOneActive(db, { heldMs: 10_000 });
  await withReaper(options(HOUR_MS), async (reaper) => {
    reaper.wake();
    await untilTaken(id);
    const later = await deadTask();
    reaper.wake();
    await untilTaken(later);
  });
  expect((await placesOf(db, stale.id)).active).not.toBeNull();
});

test("the reaper makes a round at each interval, and wakes do not delay it", async () => {
  const stale = await addOneActive(db, { heldMs: 10_000 });
  await withReaper(options(500), async (reaper) => {
    const waking = setInterval(() => reaper.wake(), 50);
    await untilTaken(stale.id);
    clearInterval(waking);
  });
});

test("a reaper that does not lead makes no rounds until it leads", async () => {
  const id = await deadTask();
  const stale = await addOneActive(db, { heldMs: 10_000 });
  let leads = false;
  let asked = 0;
  const isLeader = () => {
    asked++;
    return leads;
  };
  await withReaper(options(200, { isLeader }), async () => {
    await expect.poll(() => asked).toBeGreaterThan(3);
    expect((await placesOf(db, id)).active).not.toBeNull();
    expect((await placesOf(db, stale.id)).active).not.toBeNull();
    leads = true;
    await untilTaken(stale.id);
    expect((await placesOf(db, id)).active).toBeNull();
  });
});

test("a reaper that does not lead answers a wake a second later than the leader", async () => {
  const id = await deadTask();
  const stale = await addOneActive(db, { heldMs: 10_000 });
  await withReaper(options(HOUR_MS, { isLeader: () => false }), async (reaper) => {
    const wokenAt = performance.now();
    reaper.wake();
    await untilTaken(id);
    expect(performance.now() - wokenAt).toBeGreaterThan(950);
    expect((await placesOf(db, stale.id)).active).not.toBeNull();
  });
});

test("a round that does not judge silence skips stale tasks and expired leases, and makes every other pass", async () => {
  const id = await deadTask();
  const [running, claimed, lapsed] = await addActive(db, [
    { heldMs: 10_000 },
    { status: "CLAIMED", heldMs: 10_000 },
    { status: "CLAIMED", leaseMs: -1 },
  ]);
  const overdue = await addOneReady(db, { goodMs: -1 });
  let pruned = 0;
  const prune = async () => {
    pruned++;
  };
  const reaped = await runPasses(kit.reaper({ prune }), { judgesSilence: false });
  expect(reaped).toEqual({ crashed: 1, released: 0, recovered: 0, expired: 1, unknown: 0 });
  expect(pruned).toBe(1);
  expect((await placesOf(db, id)).active).toBeNull();
  expect((await placesOf(db, overdue)).finished).toMatchObject({ status: "EXPIRED" });
  for (const claim of [running, claimed, lapsed])
    expect((await placesOf(db, claim?.id ?? "")).active).not.toBeNull();
  expect(await runPasses(kit.reaper())).toMatchObject({ released: 2, recovered: 1 });
});

test("a reaper that was frozen does not judge silence in its next round, and does in the round after it", async () => {
  const log = recordingLogger();
  const stale = await addOneActive(db, { heldMs: 10_000 });
  /** Whether the worker still held the task at the end of each round. */
  const isHeld: boolean[] = [];
  const prune = async () => {
    isHeld.push((await placesOf(db, stale.id)).active !== null);
  };
  await withReaper(options(500, { log, prune }), async () => {
    await kit.database.ping(); // on the same session, so the first reading of the clocks has been answered
    // The event loop stands still, as in a process that is stopped and continued.
    const until = performance.now() + 3_500;
    while (performance.now() < until);
    await expect.poll(() => isHeld.length).toBeGreaterThan(1);
  });
  expect(isHeld.slice(0, 2)).toEqual([true, false]);
  expect(log.lines[0]).toMatchObject({
    level: "info",
    fields: { doubt: expect.stringMatching(/did not look for \d+ ms/) as unknown },
  });
});

test("the reaper does not judge silence in its first round after an outage of the database", async () => {
  const log = recordingLogger();
  const database = kit.newDatabase();
  await withReaper(options(300, { log, database }), async () => {
    await database.ping();
    await db.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'posthaste reads'`,
    );
    const breaker = setInterval(
      () => void database.reads.connection().then((c) => c.destroy()),
      20,
    );
    await expect
      .poll(() => log.lines.some(({ message }) => message.includes("maintenance round failed")))
      .toBe(true);
    clearInterval(breaker);
    const stale = await addOneActive(db, { heldMs: 10_000 });
    await untilTaken(stale.id);
    expect(log.lines.map(({ fields }) => fields["doubt"])).toContain(
      "nothing is known of the time before",
    );
  });
});

test("a failed pass does not prevent the other passes of its round", async () => {
  const log = recordingLogger();
  const overdue = await addOneReady(db, { goodMs: -1 });
  const stale = await addOneActive(db, { heldMs: 10_000 });
  await db.sql("alter table posthaste.recoveries rename to out_of_the_way");
  try {
    expect(await runPasses(kit.reaper({ log }))).toMatchObject({ expired: 1, recovered: 0 });
  } finally {
    await db.sql("alter table posthaste.out_of_the_way rename to recoveries");
  }
  expect((await placesOf(db, overdue)).finished).not.toBeNull();
  expect((await placesOf(db, stale.id)).active).not.toBeNull();
  const failed = log.lines.filter(
    ({ message }) => message === "maintenance pass failed; the next round retries",
  );
  expect(failed.map(({ fields }) => fields["pass"])).toEqual([
    "crashed workers",
    "stale claims",
    "stale runs",
  ]);
});

test("recovery discards a slow answer about stale tasks, because heartbeats had to wait as well", async () => {
  const log = recordingLogger();
  const stale = await addOneActive(db, { heldMs: 10_000 });
  const locker = await db.connect("reads");
  await locker.query(BEGIN);
  await locker.query(LOCK);
  const criteria = { cause: "run stale", thresholdMs: 1_000, multiplier: 1, flags: [] } as const;
  const recovering = recoverTasks(kit.recoverer({ log }), criteria);
  await pause(2_100);
  await locker.query(ROLLBACK);
  expect(await recovering).toEqual([]);
  expect((await placesOf(db, stale.id)).active).not.toBeNull();
  expect(log.lines).toMatchObject([{ level: "warn", fields: { reason: "run stale" } }]);
  expect(await recoverTasks(kit.recoverer(), criteria)).toHaveLength(1);
});

test("stop() does not wait for the next round, and ends the current round after its page", async () => {
  await addActive(
    db,
    Array.from({ length: 1_000 }, () => ({ heldMs: 10_000 })),
  );
  const reaper = new Reaper(options(100));
  await expect
    .poll(async () => (await db.sql("select from posthaste.finished_tasks")).length)
    .toBeGreaterThan(0);
  const stoppedAt = performance.now();
  await reaper.stop();
  expect(performance.now() - stoppedAt).toBeLessThan(SOON_MS);
});
