/** Calls for operators about dead workers and their tasks. */
import type { RecoveryConfig, WorkerRecoveryConfig } from "../config/config.ts";
import { readGroup } from "../config/field.ts";
import { workerRecoveryFields } from "../config/recovery-fields.ts";
import type { Database } from "../database/database.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import { isRecord, OptionReader, shown } from "../domain/option-reader.ts";
import type { HookRunner } from "../hooks/hook-runner.ts";
import { noResilience } from "../recovery/passes.ts";
import { planRecovery, recoverTasks } from "../recovery/recover-tasks.ts";
import { BY_ADMIN, type RecoveredTask, type Recoverer } from "../recovery/recovered-tasks.ts";
import { planSweep, sweepWorkers, type Sweep } from "../recovery/sweep-workers.ts";
import { isUuid } from "../sending/uuid-v7.ts";
import type { OperatorRecord } from "./operator-record.ts";
import type { RecoveryInfo } from "../store/queries/recover/list-recoveries.ts";
import type { WorkerInfo } from "../store/queries/worker/list-workers.ts";

export type { RecoveredTask, RecoveryInfo, WorkerInfo };

export interface RecoverStaleOptions {
  /** Changes nothing and calls no hook; returns the decisions. Default false. */
  readonly dryRun?: boolean;
  /**
   * Judges workers although PostgreSQL has started, or a standby was promoted, less than one threshold ago. Workers that
   * have not been able to reconnect since then lose their tasks. Default false.
   */
  readonly force?: boolean;
}

export interface SweepOptions extends RecoverStaleOptions {
  /** For this sweep: after how long without a heartbeat a worker is gone, 1–86,400,000. Default: that of `workerRecovery`. */
  readonly sweepThresholdMs?: number;
  /** For this sweep: how long a requeued task waits, 0–86,400,000. Default: that of `workerRecovery`. */
  readonly recoveryDelayMs?: number;
  /** Fields of `workerRecovery`, in place of the app's own for this sweep. */
  readonly config?: Partial<WorkerRecoveryConfig>;
}

/** Why no worker and no claim was judged by its silence. */
export interface NotJudged {
  /** No worker could write heartbeats while the server was down. */
  readonly reason: "server started" | "server promoted";
  /**
   * When the threshold has passed since then. Null: a standby was promoted and no worker has connected since; the threshold
   * begins when one does.
   */
  readonly until: Date | null;
}

interface Judgement {
  /** Null: silence was judged. Resilient tasks are judged by their longer threshold, so perhaps later. */
  readonly notJudged: NotJudged | null;
}

export interface SweepResult extends Sweep, Judgement {}

export interface RecoveryResult extends Judgement {
  readonly recoveredCount: number;
  /** The same tasks, and those that a hook has left where they are. */
  readonly tasks: readonly RecoveredTask[];
}

export interface RecoveryAdmin {
  readonly workers: {
    /**
     * Running and stopping workers, then ended ones, latest first; at most 1,000.
     *
     * A worker is stale after `staleAfterMs` without a heartbeat. Default: `workerRecovery.sweepThresholdMs`.
     */
    list(options?: { readonly staleAfterMs?: number }): Promise<readonly WorkerInfo[]>;
  };
  readonly recoveries: {
    /** Newest first; of one task, or of all. `limit` is 1–10,000, by default 100. */
    list(options?: {
      readonly taskId?: string;
      readonly limit?: number;
    }): Promise<readonly RecoveryInfo[]>;
  };
  /**
   * Recovers the tasks of silent and of unregistered workers: running tasks are requeued without spending a retry, due after
   * `recoveryDelayMs`, unless `onCrash` or a hook decides otherwise. Works whether or not `workerRecovery` is enabled; with `config: { enabled: false }` tasks without an
   * `onCrash` are retried or failed by their policy instead.
   *
   * For one threshold after a start or promotion of PostgreSQL it judges no worker: `notJudged` has the reason and the end, and
   * `force: true` judges anyway.
   *
   *     const { workerIds, recoveredCount } = await app.admin.sweepStaleWorkers({ sweepThresholdMs: 60_000 });
   */
  sweepStaleWorkers(options?: SweepOptions): Promise<SweepResult>;
  /**
   * Releases claimed tasks that have not started and have no recent heartbeat. `notJudged` and `force`: as in `sweepStaleWorkers`. Tasks
   * with an expired lease are released at any time.
   */
  requeueStaleClaimed(options?: RecoverStaleOptions): Promise<RecoveryResult>;
  /**
   * Recovers running tasks without a recent heartbeat, by their `onCrash`, their policy and the hook. `notJudged` and `force`: as in
   * `sweepStaleWorkers`.
   */
  recoverStaleRunning(options?: RecoverStaleOptions): Promise<RecoveryResult>;
}

export interface RecoveryAdminParts {
  readonly database: Database;
  readonly recovery: RecoveryConfig;
  readonly workerRecovery: WorkerRecoveryConfig;
  readonly hooks: HookRunner;
  readonly log: Logger;
  readonly record: OperatorRecord;
  readonly definitions: NonNullable<Recoverer["definitions"]>;
}

const MOST_WORKERS = 1_000;

/** @param ask runs a question once the schema stands, again if the connection was lost */
export function makeRecoveryAdmin(
  { database, recovery, workerRecovery, hooks, log, record, definitions }: RecoveryAdminParts,
  ask: <Answer>(question: () => Promise<Answer>) => Promise<Answer>,
): RecoveryAdmin {
  const { store, reads } = database;
  const recoverer: Recoverer = {
    database,
    settings: workerRecovery,
    recoveredBy: BY_ADMIN,
    hooks,
    log,
    definitions,
  };
  // Read before the tasks: if the threshold passes in between, `notJudged` is reported although tasks were judged, never the reverse.
  const findNotJudged = async (isForced: boolean, thresholdMs: number): Promise<Judgement> => ({
    notJudged: isForced ? null : await ask(() => store.readServerStart(reads, thresholdMs)),
  });
  const recorded = async <Answer extends { readonly recoveredCount: number }>(
    action: string,
    { dryRun, ...filter }: { readonly dryRun: boolean; readonly [option: string]: unknown },
    run: () => Promise<Answer>,
  ): Promise<Answer> => {
    if (dryRun) return run();
    const { answer } = await record.run({ action, filter }, async () => {
      const recovered = await run();
      return { answer: recovered, changed: recovered.recoveredCount };
    });
    return answer;
  };
  const recoverStale = async (
    { dryRun, isForced }: ReturnType<typeof readRecovery>,
    cause: "claim stale" | "run stale",
    thresholdMs: number,
  ): Promise<RecoveryResult> => {
    const run = dryRun ? planRecovery : recoverTasks;
    const judgement = await findNotJudged(isForced, thresholdMs);
    const stale = { cause, thresholdMs, ...noResilience, isForced };
    const tasks = await ask(() => run(recoverer, stale));
    if (cause === "claim stale")
      tasks.push(...(await ask(() => run(recoverer, { cause: "lease expired" }))));
    const recoveredCount = tasks.filter(({ decision }) => decision !== "skip").length;
    return { recoveredCount, tasks, ...judgement };
  };
  return {
    workers: {
      async list(options) {
        const staleAfterMs = readStaleAfter(options, workerRecovery.sweepThresholdMs);
        return ask(() => store.listWorkers(reads, staleAfterMs, MOST_WORKERS));
      },
    },
    recoveries: {
      async list(options) {
        const { limit, taskId } = readListOptions(options);
        return ask(() => store.listRecoveries(reads, limit, taskId));
      },
    },
    async sweepStaleWorkers(options) {
      const { dryRun, isForced, settings } = readSweep(options, workerRecovery);
      const run = dryRun ? planSweep : sweepWorkers;
      const { sweepThresholdMs, recoveryDelayMs } = settings;
      const filter = { dryRun, force: isForced, sweepThresholdMs, recoveryDelayMs };
      return recorded("sweep", filter, async () => {
        const judgement = await findNotJudged(isForced, sweepThresholdMs);
        const sweep = await ask(() => run({ ...recoverer, settings }, { ...settings, isForced }));
        return { ...sweep, ...judgement };
      });
    },
    async requeueStaleClaimed(options) {
      const read = readRecovery(options);
      const { dryRun, isForced: force } = read;
      return recorded("requeue stale claimed", { dryRun, force }, () =>
        recoverStale(read, "claim stale", recovery.claimedStaleThresholdMs),
      );
    },
    async recoverStaleRunning(options) {
      const read = readRecovery(options);
      const { dryRun, isForced: force } = read;
      return recorded("recover stale running", { dryRun, force }, () =>
        recoverStale(read, "run stale", recovery.runningStaleThresholdMs),
      );
    },
  };
}

function readRecovery(given: RecoverStaleOptions | undefined) {
  const options = new OptionReader("options", given, ["dryRun", "force"]);
  const read = { dryRun: options.flag("dryRun", false), isForced: options.flag("force", false) };
  refuse(options, "nothing was recovered");
  return read;
}

function readStaleAfter(given: { readonly staleAfterMs?: number } | undefined, otherwise: number) {
  const options = new OptionReader("options", given, ["staleAfterMs"]);
  const rule = { min: 0, max: Number.MAX_SAFE_INTEGER };
  const staleAfterMs = options.integer("staleAfterMs", rule, otherwise);
  refuse(options, "the workers were not listed");
  return staleAfterMs;
}

function readListOptions(
  given: { readonly taskId?: string; readonly limit?: number } | undefined,
): { readonly limit: number; readonly taskId?: string } {
  const options = new OptionReader("options", given, ["taskId", "limit"]);
  const limit = options.integer("limit", { min: 1, max: 10_000 }, 100);
  const taskId = options.text("taskId")?.toLowerCase();
  if (taskId !== undefined && !isUuid(taskId))
    options.complain("taskId", `expected a UUID, found ${shown(taskId)}`);
  refuse(options, "the recoveries were not listed");
  return taskId === undefined ? { limit } : { limit, taskId };
}

/** The options of this sweep win over its `config`, which wins over the app's. Calling it enables it. */
function readSweep(given: SweepOptions | undefined, own: WorkerRecoveryConfig) {
  const known = ["sweepThresholdMs", "recoveryDelayMs", "dryRun", "force", "config"];
  const options = new OptionReader("options", given, known);
  const { recoveryDelayMs: delayRule, sweepThresholdMs: thresholdRule } = workerRecoveryFields;
  const read = readGroup(options, "config", workerRecoveryFields);
  const config = isRecord(given) && isRecord(given["config"]) ? given["config"] : {};
  const ofConfig = Object.fromEntries(
    Object.entries(read).filter(([name]) => config[name] !== undefined),
  ) as Partial<WorkerRecoveryConfig>;
  const settings = { ...own, enabled: true, ...ofConfig };
  const { sweepThresholdMs, recoveryDelayMs } = settings;
  const swept = {
    dryRun: options.flag("dryRun", false),
    isForced: options.flag("force", false),
    settings: {
      ...settings,
      sweepThresholdMs: options.integer(
        "sweepThresholdMs",
        { ...thresholdRule, min: 1 },
        sweepThresholdMs,
      ),
      recoveryDelayMs: options.integer("recoveryDelayMs", delayRule, recoveryDelayMs),
    },
  };
  refuse(options, "nothing was swept");
  return swept;
}

function refuse({ problems }: OptionReader, what: string): void {
  if (problems.length > 0) throw PosthasteError.of("VALIDATION_FAILED", what, problems);
}
