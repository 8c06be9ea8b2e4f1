/**
 * The transaction of a claim: it starts prefetched tasks that got a slot, and claims more, pipelined. Where a cap has to be counted, it
 * takes the locks of the caps first. Ends of tasks are never part of it, so that no end waits for a lock under which a cap is
 * counted.
 */
import type { Connection } from "../../store/connection.ts";
import type { ClaimReply, ClaimRequest } from "../../store/queries/claim-tasks.ts";
import { isCapped, type ClaimRules } from "../../store/queries/pick-ready.ts";
import type { StartReply } from "../../store/queries/start-tasks.ts";
import { BEGIN, COMMIT } from "../../store/transaction.ts";
import type { Store } from "../../store/store.ts";

export interface ToStart {
  readonly id: string;
  readonly claimId: string;
  readonly queue: string;
}

export interface ClaimPlan {
  readonly starts: readonly ToStart[];
  /** Tasks to run now. */
  readonly claim: ClaimRequest | undefined;
  /** Tasks to hold until a slot is free. */
  readonly ahead: ClaimRequest | undefined;
  readonly rules: ClaimRules | undefined;
}

export interface ClaimedAndStarted {
  readonly start: StartReply | undefined;
  readonly claim: ClaimReply | undefined;
  readonly ahead: ClaimReply | undefined;
}

export async function claimAndStart(
  store: Store,
  connection: Connection,
  plan: ClaimPlan,
): Promise<ClaimedAndStarted> {
  const { starts, claim, ahead, rules } = plan;
  const capped = cappedQueues(plan);
  const caps = capped === undefined ? undefined : rules?.queueCaps;
  const parts = [starts.length > 0, claim !== undefined, ahead !== undefined];
  // A single statement is a transaction already.
  const needsTransaction = capped !== undefined || parts.filter(Boolean).length > 1;
  const steps = connection.together(() => ({
    begun: needsTransaction ? connection.query(BEGIN) : undefined,
    locked:
      capped === undefined || rules === undefined
        ? undefined
        : store.lockCaps(connection, rules, capped),
    start: starts.length > 0 ? store.startTasks(connection, starts, caps) : undefined,
    claim: claim === undefined ? undefined : store.claimAndStart(connection, claim),
    ahead: ahead === undefined ? undefined : store.claimAhead(connection, ahead),
    committed: needsTransaction ? connection.query(COMMIT) : undefined,
  }));
  const answers = await Promise.allSettled(Object.values<unknown>(steps));
  const failed = answers.find((answer) => answer.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return { start: await steps.start, claim: await steps.claim, ahead: await steps.ahead };
}

/** The queues whose caps must be counted; undefined: none. */
export function cappedQueues({ starts, claim, ahead, rules }: ClaimPlan): string[] | undefined {
  if (rules === undefined) return undefined;
  const lanes = [...(claim?.lanes ?? []), ...(ahead?.lanes ?? [])];
  const queues = [...new Set([...starts, ...lanes].map(({ queue }) => queue))];
  return queues.length > 0 && isCapped(rules, queues) ? queues : undefined;
}
