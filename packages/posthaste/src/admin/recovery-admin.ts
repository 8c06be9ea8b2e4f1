/** What operators may ask and do about workers that are gone, and about what they held. */
import type { RecoveryConfig, WorkerRecoveryConfig } from "../domain/config.ts";
import { workerRecoveryFields } from "../domain/config-recovery-fields.ts";
import type { CrashDecision } from "../domain/crash-policy.ts";
import { PosthasteError } from "../domain/errors.ts";
import { readGroup } from "../domain/field.ts";
import type { HeldStatus, InterruptionEvidence, RecoveryCause } from "../domain/interruption.ts";
import { isRecord, OptionReader, shown } from "../domain/option-reader.ts";
import type { Logger } from "../domain/logger.ts";
import type { Database } from "../engine/database.ts";
import type { HookRunner } from "../engine/hooks.ts";
import { planRecovery, recoverTasks } from "../engine/recover-tasks.ts";
import { BY_ADMIN, type RecoveredTask, type Recoverer } from "../engine/recovered-tasks.ts";
import { planSweep, sweepWorkers, type Sweep } from "../engine/sweep-workers.ts";
import { isUuid } from "../engine/uuid-v7.ts";

export type { RecoveredTask };

/** A worker as it has registered itself. */
export interface WorkerInfo {
  /** A new one for every start, and after it was declared dead. */
  readonly id: string;
  readonly name: string;
  readonly hostname: string;
  readonly pid: number;
  readonly version: string;
  readonly queues: readonly string[];
  /** The tasks that it can run. */
  readonly taskNames: readonly string[];
  /** What else is known of its process: the version of Node, the platform. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly concurrency: number;
  /**
   * blocked: it is running, and at its last heartbeat its event loop had not turned for 2 s or more, so it claims and ends
   * nothing. dead: others found that it is gone, and took its tasks.
   */
  readonly state: "running" | "blocked" | "stopping" | "stopped" | "dead";
  readonly startedAt: Date;
  readonly lastHeartbeatAt: Date;
  readonly diedAt: Date | null;
  /** It should be alive, and has not been heard of for longer than `staleAfterMs`, by the database's clock. */
  readonly isStale: boolean;
  /** How long its event loop had not turned at the last heartbeat. */
  readonly loopBlockedMs: number;
  /** Tasks that it runs, and tasks that it has claimed and not started. */
  readonly running: number;
  readonly claimed: number;
}

/** A task that was taken from a worker, or left to it because a hook wanted so: why, and what became of it. */
export interface RecoveryInfo {
  readonly taskId: string;
  readonly claimId: string;
  /** Who held it. */
  readonly workerId: string;
  /** What it was. */
  readonly status: HeldStatus;
  /** Bodies that had begun. */
  readonly attempt: number;
  readonly reason: RecoveryCause;
  readonly decision: CrashDecision["decision"];
  /** The worker that did it, or "admin". */
  readonly recoveredBy: string;
  readonly recoveredAt: Date;
  /** When it is due again; of a task that is left alone, until when. Null: it has ended. */
  readonly dueAt: Date | null;
  readonly evidence: InterruptionEvidence;
}

export interface RecoverStaleOptions {
  /** Changes nothing and asks no hook; says what would be done. Default false. */
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
  /** For this sweep: how long a task that is given back waits, 0–86,400,000. Default: that of `workerRecovery`. */
  readonly recoveryDelayMs?: number;
  /** Fields of `workerRecovery`, in place of the app's own for this sweep. */
  readonly config?: Partial<WorkerRecoveryConfig>;
}

/** Why no worker and no claim was judged by its silence. */
export interface NotJudged {
  /** While the server was away no worker could be heard. */
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
     * Workers that run or stop, then those that are gone, latest first; at most 1,000.
     *
     * `staleAfterMs` says after how long without a heartbeat one is stale. Default: `workerRecovery.sweepThresholdMs`.
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
   * Takes the tasks of workers that have not been heard of for too long, or are not registered, and puts them back: what
   * ran is given back without spending a retry, due after `recoveryDelayMs`, unless its `onCrash` or a hook says
   * otherwise. Works whether or not `workerRecovery` is enabled; with `config: { enabled: false }` tasks without an
   * `onCrash` are retried or failed by their policy instead.
   *
   * For one threshold after a start of PostgreSQL or a promotion it judges nobody: `notJudged` says why and until when,
   * and `force: true` judges anyway.
   *
   *     const { workerIds, recoveredCount } = await app.admin.sweepStaleWorkers({ sweepThresholdMs: 60_000 });
   */
  sweepStaleWorkers(options?: SweepOptions): Promise<SweepResult>;
  /**
   * Gives back tasks that were claimed and not started, and that nobody vouches for any more. `notJudged` and `force`: as
   * in `sweepStaleWorkers`; leases that are over are given back at any time.
   */
  requeueStaleClaimed(options?: RecoverStaleOptions): Promise<RecoveryResult>;
  /**
   * Recovers running tasks that nobody vouches for any more: by their `onCrash`, their policy and the hook. `notJudged` and
   * `force`: as in `sweepStaleWorkers`.
   */
  recoverStaleRunning(options?: RecoverStaleOptions): Promise<RecoveryResult>;
}

export interface RecoveryAdminParts {
  readonly database: Database;
  readonly recovery: RecoveryConfig;
  readonly workerRecovery: WorkerRecoveryConfig;
  readonly hooks: HookRunner;
  readonly log: Logger;
  readonly definitions: NonNullable<Recoverer["definitions"]>;
}

const MOST_WORKERS = 1_000;
const nobodyResilient = { multiplier: 1, flags: [] } as const;

type ListedWorker = Awaited<ReturnType<Database["store"]["listWorkers"]>>[number];

function workerInfo({ queues, taskNames, metadata, ...row }: ListedWorker): WorkerInfo {
  return {
    ...row,
    queues: JSON.parse(queues) as string[],
    taskNames: JSON.parse(taskNames) as string[],
    metadata: JSON.parse(metadata ?? "{}") as Record<string, string>,
  };
}

type ListedRecovery = Awaited<ReturnType<Database["store"]["listRecoveries"]>>[number];

function recoveryInfo({ evidence, ...row }: ListedRecovery): RecoveryInfo {
  return { ...row, evidence: JSON.parse(evidence) as InterruptionEvidence };
}

/** @param ask runs a question once the schema stands, again if the connection was lost */
export function makeRecoveryAdmin(
  { database, recovery, workerRecovery, hooks, log, definitions }: RecoveryAdminParts,
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
  // Asked before the tasks are: if the threshold passes in between, too much is said and not too little.
  const findNotJudged = async (isForced: boolean, thresholdMs: number): Promise<Judgement> => ({
    notJudged: isForced ? null : await ask(() => store.readServerStart(reads, thresholdMs)),
  });
  const recoverStale = async (
    given: RecoverStaleOptions | undefined,
    cause: "claim stale" | "run stale",
    thresholdMs: number,
  ): Promise<RecoveryResult> => {
    const { dryRun, isForced } = readRecovery(given);
    const run = dryRun ? planRecovery : recoverTasks;
    const judgement = await findNotJudged(isForced, thresholdMs);
    const stale = { cause, thresholdMs, ...nobodyResilient, isForced };
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
        const rows = await ask(() => store.listWorkers(reads, staleAfterMs, MOST_WORKERS));
        return rows.map(workerInfo);
      },
    },
    recoveries: {
      async list(options) {
        const { limit, taskId } = readListOptions(options);
        const rows = await ask(() => store.listRecoveries(reads, limit, taskId));
        return rows.map(recoveryInfo);
      },
    },
    async sweepStaleWorkers(options) {
      const { dryRun, isForced, settings } = readSweep(options, workerRecovery);
      const run = dryRun ? planSweep : sweepWorkers;
      const judgement = await findNotJudged(isForced, settings.sweepThresholdMs);
      const sweep = await ask(() => run({ ...recoverer, settings }, { ...settings, isForced }));
      return { ...sweep, ...judgement };
    },
    requeueStaleClaimed: async (options) =>
      recoverStale(options, "claim stale", recovery.claimedStaleThresholdMs),
    recoverStaleRunning: async (options) =>
      recoverStale(options, "run stale", recovery.runningStaleThresholdMs),
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

/** What was said for this sweep, over the config that was given for it, over the app's own. Asking for one enables it. */
function readSweep(given: SweepOptions | undefined, own: WorkerRecoveryConfig) {
  const known = ["sweepThresholdMs", "recoveryDelayMs", "dryRun", "force", "config"];
  const options = new OptionReader("options", given, known);
  const { recoveryDelayMs: delayRule, sweepThresholdMs: thresholdRule } = workerRecoveryFields;
  const read = readGroup(options, "config", workerRecoveryFields);
  const said = isRecord(given) && isRecord(given["config"]) ? given["config"] : {};
  const ofConfig = Object.fromEntries(
    Object.entries(read).filter(([name]) => said[name] !== undefined),
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
