/** Reads the retry policy, timeout and crash rule of a claimed task. */
import type { AnyTask } from "../../define/task.ts";
import { CRASH_RULES, type CrashRule } from "../../domain/crash-policy.ts";
import { isRecord } from "../../domain/option-reader.ts";
import { parseRetryPolicy, type RetryPolicy } from "../../domain/retry.ts";

/** The options of a task's attempts, decided when the task was sent. */
export interface AttemptOptions {
  readonly retry: RetryPolicy | null;
  readonly timeoutMs: number | undefined;
  readonly onCrash: CrashRule | undefined;
}

/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function isTimeout(stored: unknown): stored is number {
  return typeof stored === "number" && stored > 0 && stored <= LONGEST_TIMER_MS;
}

const nothing: AttemptOptions = { retry: null, timeoutMs: undefined, onCrash: undefined };
const byDefinition = new WeakMap<AnyTask, AttemptOptions>();

function ofDefinition(task: AnyTask): AttemptOptions {
  let decided = byDefinition.get(task);
  if (decided === undefined) {
    const { retry = null, timeoutMs, onCrash } = task;
    decided = { retry, timeoutMs, onCrash };
    byDefinition.set(task, decided);
  }
  return decided;
}

/** Tasks of one name often follow each other: the last parsed options are kept. */
let lastRead = { options: "{}", decided: nothing };

/** The options of the submission decide. A task sent without options takes those of this worker's definition. */
export function readAttemptOptions(
  options: string | null,
  task: AnyTask | undefined,
): AttemptOptions {
  if (options === null) return task === undefined ? nothing : ofDefinition(task);
  if (options !== lastRead.options) lastRead = { options, decided: parseDecided(options) };
  return lastRead.decided;
}

function parseDecided(options: string): AttemptOptions {
  // SQL may have sent any value.
  const stored: unknown = JSON.parse(options);
  if (!isRecord(stored)) return nothing;
  const { retry, timeoutMs, onCrash } = stored;
  return {
    retry: parseRetryPolicy(retry),
    timeoutMs: isTimeout(timeoutMs) ? timeoutMs : undefined,
    onCrash: CRASH_RULES.find((rule) => rule === onCrash),
  };
}
