/** What tests of recovery share: workers of any age, and somebody who recovers. */
import { randomUUID } from "node:crypto";
import { afterAll } from "vitest";
import { databaseAt, readConfig } from "../../src/domain/config.ts";
import { Database } from "../../src/engine/database.ts";
import { hookRunner } from "../../src/engine/hooks.ts";
import type { Recoverer } from "../../src/engine/recovered-tasks.ts";
import type { ReaperOptions } from "../../src/reaper/passes.ts";
import type { RecoveryCriteria, TimedCause } from "../../src/store/queries/recovery-causes.ts";
import type { TestDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";

export interface WorkerSeed {
  readonly workerId?: string;
  readonly state?: "running" | "stopping" | "stopped" | "dead";
  /** How long ago it was last heard of. */
  readonly silentMs?: number;
  /** How long its lock has been missing. Left out: it is not. */
  readonly missingMs?: number;
  readonly diedMs?: number;
  readonly loopBlockedMs?: number;
  readonly queues?: readonly string[];
  /** How long ago it started. Default: an hour. */
  readonly startedMs?: number;
  readonly taskNames?: readonly string[];
}

export async function addWorker(db: TestDatabase, seed: WorkerSeed = {}): Promise<string> {
  const { workerId = randomUUID(), state = "running", silentMs = 0, loopBlockedMs = 0 } = seed;
  const { startedMs = 3_600_000, taskNames = ["some-task"] } = seed;
  await db.sql(
    `insert into posthaste.workers
       (worker_id, name, hostname, pid, version, queues, task_names, concurrency, state, started_at, last_heartbeat_at,
        lock_missing_since, died_at, loop_blocked_ms)
     values ($1, 'a worker', 'a-host', 4711, '1.2.3', $9, $8, 5, $2, now() - $7 * interval '1 ms',
             now() - $3 * interval '1 ms', now() - $4 * interval '1 ms', now() - $5 * interval '1 ms', $6)`,
    [
      workerId,
      state,
      silentMs,
      seed.missingMs ?? null,
      seed.diedMs ?? null,
      loopBlockedMs,
      startedMs,
      taskNames,
      seed.queues ?? ["default"],
    ],
  );
  return workerId;
}

export const config = readConfig({}, {}).config;

export interface RecoveryKit {
  readonly database: Database;
  /** Sessions of its own, as another process has. Closed at the end. */
  newDatabase(): Database;
  recoverer(over?: Partial<Recoverer>): Recoverer;
  /** For one round of the reaper; thresholds are a second. */
  reaper(over?: Partial<ReaperOptions>): ReaperOptions;
}

/** A second, unless it is said: the server of a test has not been up for much longer. */
export function criteria(cause: TimedCause, over: object = {}): RecoveryCriteria {
  return { cause, thresholdMs: 1_000, multiplier: 1, flags: [], ...over };
}

export function useRecovery(db: TestDatabase): RecoveryKit {
  const opened: Database[] = [];
  const newDatabase = (): Database => {
    const database = new Database({
      locate: async () => databaseAt(db.url),
      schema: "posthaste",
      autoMigrate: false,
      log: silentLogger,
    });
    opened.push(database);
    return database;
  };
  const there = (): Database => opened[0] ?? newDatabase();
  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()));
  });
  return {
    get database() {
      return there();
    },
    newDatabase,
    recoverer: (over) => ({
      database: there(),
      settings: config.workerRecovery,
      recoveredBy: randomUUID(),
      hooks: hookRunner({}, silentLogger),
      log: silentLogger,
      ...over,
    }),
    reaper: (over) => ({
      database: there(),
      recovery: {
        ...config.recovery,
        runningStaleThresholdMs: 1_000,
        claimedStaleThresholdMs: 1_000,
        crashGraceMs: 1_000,
      },
      workerRecovery: config.workerRecovery,
      workerId: randomUUID(),
      hooks: hookRunner({}, silentLogger),
      log: silentLogger,
      ...over,
    }),
  };
}
