/**
 * Finds runs whose rows contradict each other, and repairs each through the path that its ends take when nothing is wrong.
 * Page by page in the order of ids, and a round goes on where the one before stopped: however many runs are open, each has
 * its turn.
 */
import type { Database } from "../database/database.ts";
import { isRepeatable } from "../database/repeat-safely.ts";
import type { Logger } from "../domain/logger.ts";

export interface RepairedWorkflow {
  readonly workflowId: string;
  /** The contradictions that were found: "task ended", "ready and not sent", … */
  readonly found: readonly string[];
}

export interface RecoveredWorkflows {
  readonly workflowIds: readonly string[];
  readonly repairs: readonly RepairedWorkflow[];
}

export interface WorkflowRecoverer {
  readonly database: Database;
  readonly log: Logger;
  /** Aborts the round: other workers repair the rest. */
  readonly signal?: AbortSignal;
}

export interface RecoveryRound {
  /** Open runs that are looked at, and those that may be repaired, in one round. Default: all. */
  readonly limit?: number;
  /** Where the round before stopped. */
  readonly after?: string;
  /** Only looks. */
  readonly dryRun?: boolean;
}

const FIRST_PAGE = "00000000-0000-0000-0000-000000000000";
const PAGE = 200;
/** The result of one maintenance round. */
const MOST_LOOKED_AT = 2_000;

/** @returns also where the next round goes on; null: all open runs have been looked at */
export async function recoverStuckWorkflows(
  recoverer: WorkflowRecoverer,
  { limit = Infinity, after = FIRST_PAGE, dryRun = false }: RecoveryRound = {},
): Promise<RecoveredWorkflows & { readonly reached: string | null }> {
  const { database, signal } = recoverer;
  const isStopped = (): boolean => signal?.aborted === true;
  const repairs: RepairedWorkflow[] = [];
  let reached: string | null = after;
  for (let left = limit; left > 0 && reached !== null && !isStopped(); left -= PAGE) {
    const size = Math.min(PAGE, left);
    const page = await database.store.repairWorkflows.find(database.reads, reached, size);
    for (const { id: workflowId, found } of page) {
      if (found.length === 0 || isStopped()) continue;
      if (dryRun || (await repair(recoverer, workflowId, found)))
        repairs.push({ workflowId, found });
    }
    reached = page.length < size ? null : (page.at(-1)?.id ?? null);
  }
  return { workflowIds: repairs.map(({ workflowId }) => workflowId), repairs, reached };
}

/** Each in a transaction of its own: one that cannot be repaired keeps no other from it. */
async function repair(
  { database, log }: WorkflowRecoverer,
  workflowId: string,
  found: readonly string[],
): Promise<boolean> {
  const { store, reads, workflows } = database;
  try {
    const ended = await store.repairWorkflows.repair(workflows, workflowId);
    log.warn({ workflowId, found }, "workflow run was stuck; repaired it");
    // After the commit: this also notifies waiters that registered meanwhile.
    if (ended.length > 0) await store.awaitResults.notify(reads, ended);
    return true;
  } catch (error) {
    if (isRepeatable(error)) throw error;
    log.error(
      { workflowId, found, error: String(error) },
      "workflow run is stuck and could not be repaired; the next round retries",
    );
    return false;
  }
}

/** For a maintenance pass, to be called in every round. Returns how many runs it repaired. */
export function workflowRounds(
  database: Database,
  log: Logger,
): (signal?: AbortSignal) => Promise<number> {
  let after: string | null = null;
  return async (signal) => {
    const round = await recoverStuckWorkflows(
      { database, log, ...(signal && { signal }) },
      { limit: MOST_LOOKED_AT, ...(after !== null && { after }) },
    );
    after = round.reached;
    return round.repairs.length;
  };
}
