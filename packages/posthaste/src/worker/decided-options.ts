import type { AnyTask } from "../define/task.ts";
import { CRASH_RULES, type CrashRule } from "../domain/crash-rule.ts";
import { isRecord } from "../domain/option-reader.ts";
import { parseRetryPolicy, type RetryPolicy } from "../domain/retry.ts";

/** What was decided about a task's attempts when it was sent. */
export interface Decided {
  readonly retry: RetryPolicy | null;
  readonly timeoutMs: number | undefined;
  readonly onCrash: CrashRule | undefined;
}

/** Beyond that, a timer rings at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function isTimeout(stored: unknown): stored is number {
  return typeof stored === "number" && stored > 0 && stored <= LONGEST_TIMER_MS;
}

const nothing: Decided = { retry: null, timeoutMs: undefined, onCrash: undefined };
const byDefinition = new WeakMap<AnyTask, Decided>();

function ofDefinition(task: AnyTask): Decided {
  let decided = byDefinition.get(task);
  if (decided === undefined) {
    const { retry = null, timeoutMs, onCrash } = task;
    decided = { retry, timeoutMs, onCrash };
    byDefinition.set(task, decided);
  }
  return decided;
}

/** Tasks of one kind come one after the other: what was read last is often what is asked for next. */
let lastRead = { options: "{}", decided: nothing };

/** What was sent decides; a task that was sent without any option takes those of this worker's definition. */
export function readDecided(options: string | null, task: AnyTask | undefined): Decided {
  if (options === null) return task === undefined ? nothing : ofDefinition(task);
  if (options !== lastRead.options) lastRead = { options, decided: parseDecided(options) };
  return lastRead.decided;
}

function parseDecided(options: string): Decided {
  // A row that was sent by SQL may hold anything there.
  const stored: unknown = JSON.parse(options);
  if (!isRecord(stored)) return nothing;
  const { retry, timeoutMs, onCrash } = stored;
  return {
    retry: parseRetryPolicy(retry),
    timeoutMs: isTimeout(timeoutMs) ? timeoutMs : undefined,
    onCrash: CRASH_RULES.find((rule) => rule === onCrash),
  };
}
