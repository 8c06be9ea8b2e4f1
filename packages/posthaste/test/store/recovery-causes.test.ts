import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import type {
  RecoveryCriteria,
  TimedCause,
} from "../../src/store/queries/recover/recovery-causes.ts";
import { addWorker, criteria, type WorkerSeed } from "../recovery/recovery-kit.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recovery, recoverySteps } from "./recovery-steps.ts";
import { addActive, addOneActive, placesOf, type ActiveSeed, type Claim } from "./task-rows.ts";

const db = useDatabase();
useCleanTables(db);
const { find, apply, remembered } = recoverySteps(db);

const OLD_MS = 10_000;

interface Case {
  readonly cause: TimedCause | "lease expired";
  readonly says: string;
  readonly worker?: WorkerSeed;
  readonly task?: ActiveSeed;
  readonly isFound: boolean;
}

const cases: Case[] = [
  {
    cause: "worker crashed",
    says: "of a dead worker whose lock has been missing for the grace",
    worker: { state: "dead", missingMs: 1_500, diedMs: 10 },
    isFound: true,
  },
  {
    cause: "worker crashed",
    says: "claimed, of a dead worker",
    worker: { state: "dead", missingMs: 1_500, diedMs: 10 },
    task: { status: "CLAIMED" },
    isFound: true,
  },
  {
    cause: "worker crashed",
    says: "of a dead worker, within the grace",
    worker: { state: "dead", missingMs: 500, diedMs: 10 },
    isFound: false,
  },
  {
    cause: "worker crashed",
    says: "of a worker that was swept when it held nothing",
    worker: { state: "dead", diedMs: 1_500 },
    isFound: true,
  },
  {
    cause: "worker crashed",
    says: "of a worker whose lock is missing, and that is not declared dead",
    worker: { missingMs: OLD_MS, silentMs: OLD_MS },
    isFound: false,
  },
  ...(["running", "stopping", "stopped"] as const).map((state) => ({
    cause: "worker silent" as const,
    says: `of a worker that is ${state} and silent`,
    worker: { state, silentMs: 1_500 },
    isFound: true,
  })),
  {
    cause: "worker silent",
    says: "of a worker that was heard of",
    worker: { silentMs: 500 },
    task: { heldMs: OLD_MS },
    isFound: false,
  },
  {
    cause: "worker silent",
    says: "of a dead worker",
    worker: { state: "dead", silentMs: OLD_MS, missingMs: 0 },
    isFound: false,
  },
  {
    cause: "worker silent",
    says: "of an unknown worker",
    task: { heldMs: OLD_MS },
    isFound: false,
  },
  { cause: "worker unknown", says: "of an unknown worker", task: { heldMs: 1_500 }, isFound: true },
  {
    cause: "worker unknown",
    says: "of an unknown worker that sends heartbeats for it",
    task: { heldMs: OLD_MS, beatMs: 500 },
    isFound: false,
  },
  {
    cause: "worker unknown",
    says: "just claimed by an unknown worker",
    task: { heldMs: 500 },
    isFound: false,
  },
  {
    cause: "worker unknown",
    says: "of a worker that is known, and silent",
    worker: { silentMs: OLD_MS },
    task: { heldMs: OLD_MS },
    isFound: false,
  },
  {
    cause: "claim stale",
    says: "claimed long ago",
    task: { status: "CLAIMED", heldMs: 1_500 },
    isFound: true,
  },
  {
    cause: "claim stale",
    says: "claimed long ago, with a recent heartbeat",
    task: { status: "CLAIMED", heldMs: OLD_MS, beatMs: 500 },
    isFound: false,
  },
  {
    cause: "claim stale",
    says: "claimed just now",
    task: { status: "CLAIMED", heldMs: 500 },
    isFound: false,
  },
  { cause: "claim stale", says: "running", task: { heldMs: OLD_MS }, isFound: false },
  { cause: "run stale", says: "started long ago", task: { heldMs: 1_500 }, isFound: true },
  {
    cause: "run stale",
    says: "that has just started, with an old heartbeat from when it was claimed",
    task: { isFetchedAhead: true, heldMs: 10, beatMs: OLD_MS },
    isFound: false,
  },
  {
    cause: "run stale",
    says: "with an old heartbeat",
    task: { heldMs: OLD_MS, beatMs: 1_500 },
    isFound: true,
  },
  {
    cause: "run stale",
    says: "started long ago, with a recent heartbeat",
    task: { heldMs: OLD_MS, beatMs: 500 },
    isFound: false,
  },
  // The claim's own time counts, never that of an earlier attempt.
  {
    cause: "run stale",
    says: "in its second attempt, just started",
    task: { runs: 1, dueMs: -3_600_000, heldMs: 500 },
    isFound: false,
  },
  {
    cause: "run stale",
    says: "only claimed",
    task: { status: "CLAIMED", heldMs: OLD_MS },
    isFound: false,
  },
  {
    cause: "lease expired",
    says: "with a lease that is over",
    task: { status: "CLAIMED", leaseMs: -1 },
    isFound: true,
  },
  {
    cause: "lease expired",
    says: "with a lease that is not",
    task: { status: "CLAIMED", leaseMs: 60_000 },
    isFound: false,
  },
  { cause: "lease expired", says: "running", task: { heldMs: OLD_MS }, isFound: false },
];

describe("recovery causes", () => {
  describe.each(cases)("$cause: a task $says", ({ cause, worker, task, isFound }) => {
    const wanted: RecoveryCriteria = cause === "lease expired" ? { cause } : criteria(cause);
    let claim: Claim;

    beforeEach(async () => {
      const workerId = worker === undefined ? randomUUID() : await addWorker(db, worker);
      claim = await addOneActive(db, { workerId, ...task });
    });

    test(`is ${isFound ? "" : "not "}found`, async () => {
      expect((await find(wanted)).map(({ id }) => id)).toEqual(isFound ? [claim.id] : []);
    });

    test(`is ${isFound ? "" : "not "}moved, whatever the decision says`, async () => {
      const applied = await apply(wanted, recovery(claim, { decision: "fail" }));
      expect(applied.map(({ id }) => id)).toEqual(isFound ? [claim.id] : []);
      const { active, finished } = await placesOf(db, claim.id);
      expect([active === null, finished !== null]).toEqual([isFound, isFound]);
      expect(await remembered()).toHaveLength(isFound ? 1 : 0);
    });
  });

  test.each(["worker silent", "worker unknown", "claim stale", "run stale"] as const)(
    "%s: no worker counts as silent for one threshold after the server's start",
    async (cause) => {
      const DAYS_MS = 10 * 86_400_000;
      const workerId =
        cause === "worker silent" ? await addWorker(db, { silentMs: DAYS_MS }) : randomUUID();
      const status = cause === "claim stale" ? "CLAIMED" : "RUNNING";
      const claim = await addOneActive(db, { workerId, status, heldMs: DAYS_MS });
      expect(await find(criteria(cause))).toHaveLength(1);
      const beforeItsStart = criteria(cause, { thresholdMs: DAYS_MS - 60_000 });
      expect(await find(beforeItsStart)).toEqual([]);
      expect(await apply(beforeItsStart, recovery(claim, { decision: "fail" }))).toEqual([]);
    },
  );

  describe("resilient tasks", () => {
    const flags = ["infrastructure_resilient", "other"];
    const flagged: [unknown, number][] = [
      [{ infrastructure_resilient: true }, 3_000],
      [{ other: true, more: false }, 3_000],
      [{ infrastructure_resilient: false }, 1_000],
      [{ another: true }, 1_000],
      [{ infrastructure_resilient: "true" }, 1_000],
      [null, 1_000],
      [["infrastructure_resilient"], 1_000],
      ["infrastructure_resilient", 1_000],
    ];

    test.each(flagged)("with flags %j have a threshold of %i ms", async (given, thresholdMs) => {
      const workerId = await addWorker(db, { silentMs: OLD_MS, state: "running" });
      await addOneActive(db, { workerId, flags: given });
      expect(await find(criteria("worker silent", { multiplier: 3, flags }))).toMatchObject([
        { thresholdMs },
      ]);
    });

    test("are judged one by one: other tasks of the worker do not wait for them", async () => {
      const workerId = await addWorker(db, { state: "dead", missingMs: 1_500 });
      const [plain, resilient] = await addActive(db, [
        { workerId },
        { workerId, flags: { infrastructure_resilient: true } },
      ]);
      const wanted = criteria("worker crashed", { multiplier: 3, flags });
      expect((await find(wanted)).map(({ id }) => id)).toEqual([plain?.id]);
      const decided = [plain, resilient].flatMap((claim) =>
        claim === undefined ? [] : [recovery(claim, { decision: "fail" })],
      );
      expect(await apply(wanted, ...decided)).toMatchObject([{ id: plain?.id }]);
      await db.sql("update posthaste.workers set lock_missing_since = now() - interval '4 s'");
      expect((await find(wanted)).map(({ id }) => id)).toEqual([resilient?.id]);
    });
  });

  test("a found task has all fields that a decision needs", async () => {
    const workerId = await addWorker(db, { silentMs: OLD_MS, loopBlockedMs: 12 });
    const claim = await addOneActive(db, {
      workerId,
      name: "n",
      queue: "q",
      priority: 7,
      input: { a: 1 },
      options: { onCrash: "fail" },
      flags: { x: true },
      runs: 2,
      retryCount: 1,
      crashCount: 2,
      goodMs: 60_000,
      isCancelRequested: true,
      heldMs: 2_000,
    });
    const [found] = await find(criteria("worker silent"));
    expect(found).toEqual({
      ...claim,
      workerId,
      name: "n",
      queue: "q",
      priority: 7,
      status: "RUNNING",
      attemptNo: 3,
      retryCount: 1,
      crashCount: 2,
      isStarted: true,
      ranMs: expect.closeTo(2_000, -3) as unknown,
      isCancelRequested: true,
      isNode: false,
      msUntilDeadline: expect.closeTo(60_000, -4) as unknown,
      input: '{"a": 1}',
      options: '{"onCrash": "fail"}',
      flags: '{"x": true}',
      hostname: "a-host",
      pid: 4711,
      loopBlockedMs: 12,
      lastHeartbeatAt: expect.any(Date) as unknown,
      thresholdMs: 1_000,
      detectedAt: expect.any(Date) as unknown,
    });
  });

  describe("on a server that was just promoted", () => {
    const SEEN = "update posthaste.server_timelines set seen_at = ";

    test.each(["worker silent", "worker unknown", "claim stale", "run stale"] as const)(
      "%s: no worker is silent for one threshold, nor before a worker saw the promotion",
      async (cause) => {
        const worker = await addWorker(db, { silentMs: OLD_MS });
        const workerId = cause === "worker unknown" ? randomUUID() : worker;
        const status = cause === "claim stale" ? "CLAIMED" : "RUNNING";
        const claim = await addOneActive(db, { workerId, status, heldMs: OLD_MS });
        const found = async (): Promise<number> =>
          (await find(criteria(cause))).filter(({ id }) => id === claim.id).length;
        try {
          await db.sql(`${SEEN} clock_timestamp()`);
          expect(await found()).toBe(0);
          await db.sql("delete from posthaste.server_timelines");
          expect(await found()).toBe(0);
          await db.store.liveness.noteTimeline(await db.connect());
          expect(await found()).toBe(0);
        } finally {
          await db.sql(`${SEEN} clock_timestamp() - interval '1 day'`);
        }
        expect(await found()).toBe(1);
      },
    );
  });
});
