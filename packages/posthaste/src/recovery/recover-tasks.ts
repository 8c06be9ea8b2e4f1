/**
 * Takes tasks from workers that crashed, fell silent or shut down: finds them, asks the hook, decides, moves them in one
 * statement a page, and notifies workers and waiters and calls hooks. Every caller does it this way, with a hook and without.
 */
import { crashOptions, decideCrash, type TaskRecoveryAnswer } from "../domain/crash-policy.ts";
import {
  interruptionError,
  interruptionEvidence,
  type RecoveryCause,
} from "../domain/interruption.ts";
import type { FoundTask } from "../store/queries/recover/recover-tasks.ts";
import type { RecoveryCriteria } from "../store/queries/recover/recovery-causes.ts";
import { applyPage } from "./apply-recovery.ts";
import {
  recoveredTask,
  recoveryEvent,
  type DecidedTask,
  type RecoveredTask,
  type Recoverer,
} from "./recovered-tasks.ts";
import { reportRecovered } from "./report-recovered.ts";

const FIRST_PAGE = "00000000-0000-0000-0000-000000000000";
const PAGE = 200;
/** Pages of one pass; the next pass does the rest. */
const MOST_PAGES = 50;
/** Longer than any statement takes on a healthy server. */
const PATIENCE_MS = 2_000;
/** How long a skip lasts that does not say, where no threshold was passed. */
const USUAL_SKIP_MS = 60_000;

/** One pass. Pages come in id order, so a skipped task does not come again. */
export async function recoverTasks(
  recoverer: Recoverer,
  criteria: RecoveryCriteria,
): Promise<RecoveredTask[]> {
  const recovered: RecoveredTask[] = [];
  for await (const page of decidedPages(recoverer, criteria)) {
    const applied = await applyPage(recoverer, criteria, page);
    recovered.push(...(await reportRecovered(recoverer, page, applied)));
  }
  return recovered;
}

/** The decisions of a pass without asking hooks or changing rows. */
export async function planRecovery(
  recoverer: Recoverer,
  criteria: RecoveryCriteria,
): Promise<RecoveredTask[]> {
  const planned: RecoveredTask[] = [];
  const silent = { ...recoverer, hooks: { ...recoverer.hooks, askRecovery: undefined } };
  for await (const page of decidedPages(silent, criteria)) {
    planned.push(...page.map((task) => recoveredTask(task, task.recovery.decision.decision)));
  }
  return planned;
}

/** @param exceptOf tasks of this worker are left alone */
export async function* decidedPages(
  recoverer: Recoverer,
  criteria: RecoveryCriteria,
  exceptOf: string | null = null,
): AsyncGenerator<DecidedTask[], void> {
  const { store, reads } = recoverer.database;
  let afterId = FIRST_PAGE;
  for (let page = 0; page < MOST_PAGES && recoverer.signal?.aborted !== true; page++) {
    const askedAt = performance.now();
    const found = await store.recoverTasks.find(reads, criteria, { limit: PAGE, afterId });
    if (isDoubtful(criteria, performance.now() - askedAt)) {
      recoverer.log.warn(
        { reason: criteria.cause },
        "stale-worker query was slow; skipping recovery this round because heartbeats may be delayed too",
      );
      return;
    }
    const last = found.at(-1);
    if (last === undefined) return;
    const meant = found.filter(({ workerId }) => workerId !== exceptOf);
    if (meant.length > 0)
      yield await Promise.all(meant.map((task) => decide(recoverer, criteria.cause, task)));
    if (found.length < PAGE) return;
    afterId = last.id;
  }
}

/** If the query took half a threshold, heartbeats may have been delayed as well. */
function isDoubtful(criteria: RecoveryCriteria, tookMs: number): boolean {
  if (!("thresholdMs" in criteria) || criteria.cause === "worker crashed") return false;
  return tookMs > Math.max(PATIENCE_MS, criteria.thresholdMs / 2);
}

async function decide(
  recoverer: Recoverer,
  cause: RecoveryCause,
  found: FoundTask,
): Promise<DecidedTask> {
  const { settings, definitions } = recoverer;
  const { id, claimId } = found;
  const thresholdMs = found.thresholdMs > 0 ? found.thresholdMs : USUAL_SKIP_MS;
  const facts = { ...found, ...crashOptions(found.options, definitions?.get(found.name)) };
  const answer = await askHook(recoverer, cause, found);
  const circumstances = { cause, settings, answer, thresholdMs };
  const decision = decideCrash(facts, circumstances, Math.random());
  const remark = decision.decision === "fail" ? decision.remark : undefined;
  const evidence = interruptionEvidence({ ...found, cause }, remark);
  const error = interruptionError(evidence);
  return { found, cause, recovery: { id, claimId, decision, evidence, error } };
}

/** A requested cancellation wins over every decision. */
async function askHook(
  recoverer: Recoverer,
  cause: RecoveryCause,
  found: FoundTask,
): Promise<TaskRecoveryAnswer> {
  const { askRecovery } = recoverer.hooks;
  if (askRecovery === undefined || found.isCancelRequested) return { action: "default" };
  return askRecovery(recoveryEvent(recoverer, cause, found));
}
