/** Shared by the tests of recovery: worker rows of any age, a recoverer and the options of a reaper. */
import { randomUUID } from "node:crypto";
import { afterAll } from "vitest";
import { databaseAt, readConfig } from "../../src/config/config.ts";
import { Database } from "../../src/database/database.ts";
import { hookRunner } from "../../src/hooks/hook-runner.ts";
import type { Recoverer } from "../../src/recovery/recovered-tasks.ts";
import type { ReaperOptions } from "../../src/recovery/passes.ts";
import type {
  RecoveryCriteria,
  TimedCause,
} from "../../src/store/queries/recover/recovery-causes.ts";
import type { TestDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";

export interface WorkerSeed {
  readonly workerId?: string;
  readonly state?: "running" | "stopping" | "stopped" | "dead";
  /** Time since its last heartbeat. */
  readonly silentMs?: number;
  /** Time since its lock went missing. Default: the lock is held. */
  readonly missingMs?: number;
  readonly diedMs?: number;
  readonly loopBlockedMs?: number;
  readonly queues?: readonly string[];
  /** Time since its start. Default: an hour. */
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
  /** A database with sessions of its own, as another process has. Closed after all tests. */
  newDatabase(): Database;
  recoverer(over?: Partial<Recoverer>): Recoverer;
  /** Options for one round of the reaper. Thresholds are a second. */
  reaper(over?: Partial<ReaperOptions>): ReaperOptions;
}

/** The threshold defaults to a second, because the server of a test has not been up for much longer. */
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
