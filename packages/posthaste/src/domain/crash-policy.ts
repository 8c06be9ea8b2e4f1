/**
 * Decides about a recovered task: one rule for the reaper, the sweeper, operators and a worker that shuts down.
 *
 * Pure: no clock, no randomness, no I/O. The statement that applies a decision (store/queries/recover/recover-tasks.ts) checks
 * the row again, and repeats the two overrides that only the row can decide: a requested cancellation, and a deadline that a requeue
 * would miss.
 */
import type { ResultCode } from "./errors.ts";
import type { RecoveryCause } from "./interruption.ts";
import { isRecord } from "./option-reader.ts";
import { maxRetries, mayRetry, parseRetryPolicy, retryDelayMs, type RetryPolicy } from "./retry.ts";

/** The answer of a `taskRecovery` hook. */
export type TaskRecoveryAnswer =
  /** The task's options and the config decide. */
  | { readonly action: "default" }
  /** Returns to its queue, due at `runAt`; `attempts` replaces the number of spent retries. */
  | { readonly action: "reschedule"; readonly runAt: Date; readonly attempts?: number }
  /** As if its handler had failed with WORKER_CRASHED: its retry policy's next delay, or the end. */
  | { readonly action: "failWithBackoff" }
  /** Left where it is, for `untilMs` from now (default: until the worker's threshold has passed once more). */
  | { readonly action: "skip"; readonly untilMs?: number };

/** The crash options of a task, decided when it was sent. */
export interface CrashOptions {
  readonly retry: RetryPolicy | null;
  /** Undefined: the config decides. */
  readonly onCrash: CrashRule | undefined;
  readonly maxCrashes: number;
}

/** The facts about a task that is to be recovered. */
export interface TaskFacts extends CrashOptions {
  /** RUNNING: its handler may have begun. Else it was only claimed. */
  readonly isStarted: boolean;
  readonly isCancelRequested: boolean;
  readonly retryCount: number;
  /** Crashes in a row, without this one. */
  readonly crashCount: number;
  /** Negative when it has passed, null when there is none. */
  readonly msUntilDeadline: number | null;
}

/** The settings of `workerRecovery`. */
export interface CrashSettings {
  readonly enabled: boolean;
  readonly recoveryDelayMs: number;
}

/** How the question came up. */
export interface CrashCircumstances {
  readonly cause: RecoveryCause;
  readonly settings: CrashSettings;
  readonly answer: TaskRecoveryAnswer;
  /** How long a task is left alone by a `skip` that does not say. */
  readonly thresholdMs: number;
}

/** A return to the queue: after a delay (0: at its old place), or at an instant. */
type Due = { readonly delayMs: number } | { readonly runAt: Date };

/** Delays, not instants, because PostgreSQL owns the clock. Only a hook gives an instant. */
export type CrashDecision =
  /** Released before its handler ran, at its old place in the queue. */
  | { readonly decision: "release" }
  /** Given back although its handler may have run; `retries` replaces the number of those spent. */
  | { readonly decision: "requeue"; readonly due: Due; readonly retries?: number }
  | { readonly decision: "retry"; readonly delayMs: number }
  | { readonly decision: "fail"; readonly remark?: string }
  | { readonly decision: "cancel" }
  | { readonly decision: "skip"; readonly delayMs: number };

const CRASHED = "WORKER_CRASHED" satisfies ResultCode;
const DEFAULT_MAX_CRASHES = 3;

/** @param random in [0, 1), only spreads the delay of a retry */
export function decideCrash(
  task: TaskFacts,
  circumstances: CrashCircumstances,
  random: number,
): CrashDecision {
  if (task.isCancelRequested) return { decision: "cancel" };
  const wanted = byAnswer(task, circumstances, random);
  if (wanted.decision === "skip") return wanted;
  return tooManyCrashes(task, circumstances) ?? inTime(task, wanted);
}

function byAnswer(
  task: TaskFacts,
  circumstances: CrashCircumstances,
  random: number,
): CrashDecision {
  const { answer, thresholdMs } = circumstances;
  switch (answer.action) {
    case "default":
      return byRule(task, circumstances, random);
    case "reschedule": {
      const { runAt, attempts } = answer;
      const retries = attempts === undefined ? {} : { retries: attempts };
      return { decision: "requeue", due: { runAt }, ...retries };
    }
    case "failWithBackoff": {
      const { retry, retryCount } = task;
      const isSpent = retry === null || retryCount >= maxRetries(retry);
      return isSpent ? { decision: "fail" } : retried(retry, retryCount, random);
    }
    case "skip":
      return { decision: "skip", delayMs: answer.untilMs ?? thresholdMs };
  }
}

function byRule(
  task: TaskFacts,
  { cause, settings }: CrashCircumstances,
  random: number,
): CrashDecision {
  if (!task.isStarted) return { decision: "release" };
  const isShutdown = cause === "shutdown";
  const { retry, retryCount, onCrash } = task;
  switch (onCrash ?? (isShutdown || settings.enabled ? "requeue" : "policy")) {
    case "requeue": {
      const delayMs = settings.enabled && !isShutdown ? settings.recoveryDelayMs : 0;
      return { decision: "requeue", due: { delayMs } };
    }
    case "policy":
      return retry !== null && mayRetry(retry, retryCount, CRASHED)
        ? retried(retry, retryCount, random)
        : { decision: "fail" };
    case "fail":
      return { decision: "fail" };
  }
}

function retried(retry: RetryPolicy, retryCount: number, random: number): CrashDecision {
  return { decision: "retry", delayMs: retryDelayMs(retry, retryCount, random) };
}

/** A task that crashes workers must end at some time. A task that was only claimed, or stopped in order, caused no crash. */
function tooManyCrashes(
  { isStarted, crashCount, maxCrashes }: TaskFacts,
  { cause }: CrashCircumstances,
): CrashDecision | undefined {
  const crashes = crashCount + 1;
  if (!isStarted || cause === "shutdown" || crashes < maxCrashes) return undefined;
  return {
    decision: "fail",
    remark: `this was crash ${crashes} in a row, and maxCrashes is ${maxCrashes}: the task is not run again`,
  };
}

/** A task that ran and cannot run again before its deadline fails. A task that never ran is released, and expires in its queue. */
function inTime({ msUntilDeadline }: TaskFacts, wanted: CrashDecision): CrashDecision {
  const delayMs = delayOf(wanted);
  const isLate = delayMs !== undefined && msUntilDeadline !== null && delayMs >= msUntilDeadline;
  return isLate
    ? { decision: "fail", remark: "it could not run again before its goodUntil" }
    : wanted;
}

function delayOf(wanted: CrashDecision): number | undefined {
  if (wanted.decision === "retry") return wanted.delayMs;
  if (wanted.decision === "requeue" && "delayMs" in wanted.due) return wanted.due.delayMs;
  return undefined;
}

/**
 * The decision of a worker about an attempt that it told to stop, without a hook. The statement that ends the claim decides whether the
 * task was cancelled and whether a retry is in time.
 */
export function decideInterrupted(
  task: Pick<TaskFacts, "retry" | "retryCount" | "onCrash">,
  random: number,
): CrashDecision {
  const facts = {
    ...task,
    isStarted: true,
    isCancelRequested: false,
    crashCount: 0,
    maxCrashes: DEFAULT_MAX_CRASHES,
    msUntilDeadline: null,
  };
  const settings = { enabled: false, recoveryDelayMs: 0 };
  const answer = { action: "default" } as const;
  return decideCrash(facts, { cause: "shutdown", settings, answer, thresholdMs: 0 }, random);
}

/** The crash options of a definition. */
export interface CrashDefinition {
  readonly retry: RetryPolicy | undefined;
  readonly onCrash: CrashRule | undefined;
  readonly maxCrashes: number | undefined;
}

/**
 * The options of the submission decide: JSON text, perhaps from SQL, of which invalid options are ignored. A task sent without options
 * takes those of the definition, if there is one.
 */
export function crashOptions(
  options: string | null,
  definition: CrashDefinition | undefined,
): CrashOptions {
  const said: unknown = options === null ? definition : JSON.parse(options);
  const { retry, onCrash, maxCrashes } = isRecord(said) ? said : {};
  const isLimit = typeof maxCrashes === "number" && Number.isInteger(maxCrashes) && maxCrashes >= 1;
  return {
    retry: parseRetryPolicy(retry),
    onCrash: CRASH_RULES.find((rule) => rule === onCrash),
    maxCrashes: isLimit ? maxCrashes : DEFAULT_MAX_CRASHES,
  };
}

/**
 * The rule for a task that was running when its worker crashed. `policy`: its retry policy decides, and the task fails unless the policy
 * lists WORKER_CRASHED. `requeue`: the task runs again and spends no retry. `fail`: it fails.
 */
export const CRASH_RULES = ["policy", "requeue", "fail"] as const;

export type CrashRule = (typeof CRASH_RULES)[number];
