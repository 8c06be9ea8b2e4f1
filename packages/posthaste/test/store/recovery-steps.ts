/** The two statements of recovery, asked as an engine asks them. */
import type { CrashDecision } from "../../src/domain/crash-policy.ts";
import type {
  AppliedRecovery,
  FoundTask,
  TaskRecovery,
} from "../../src/store/queries/recover/recover-tasks.ts";
import type { RecoveryCriteria } from "../../src/store/queries/recover/recovery-causes.ts";
import type { TestDatabase } from "../support/database.ts";
import type { Claim } from "./task-rows.ts";

export const FIRST_PAGE = { limit: 100, afterId: "00000000-0000-0000-0000-000000000000" };

export interface RecoverySteps {
  readonly find: (wanted: RecoveryCriteria) => Promise<FoundTask[]>;
  readonly apply: (
    wanted: RecoveryCriteria,
    ...recoveries: TaskRecovery[]
  ) => Promise<AppliedRecovery[]>;
  /** The stored recoveries. */
  readonly remembered: () => Promise<Record<string, unknown>[]>;
}

export function recoverySteps(db: TestDatabase): RecoverySteps {
  const { recoverTasks } = db.store;
  return {
    find: async (wanted) => recoverTasks.find(await db.connect("reads"), wanted, FIRST_PAGE),
    apply: async (wanted, ...recoveries) =>
      recoverTasks.apply(await db.connect("reads"), wanted, recoveries, "tester"),
    remembered: () => db.sql("select * from posthaste.recoveries order by id"),
  };
}

export function recovery(claim: Claim, decision: CrashDecision): TaskRecovery {
  const evidence = {
    workerId: "w",
    hostname: null,
    pid: null,
    lastHeartbeatAt: "2026-01-01T00:00:00.000Z",
    thresholdMs: 1_000,
    detectedAt: "2026-01-01T00:00:00.000Z",
    reason: "because",
  };
  return {
    ...claim,
    decision,
    evidence,
    error: { code: "WORKER_CRASHED", message: "interrupted", data: evidence },
  };
}
