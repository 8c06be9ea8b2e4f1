/**
 * The transaction of a claim: it starts prefetched tasks that got a slot, and claims more, pipelined. Where a cap has to be counted, it
 * takes the locks of the caps first. No end is written in it. Where it travels with ends, it follows them in the packet, and the next ends wait for its answer.
 */
import type { Connection } from "../../store/connection.ts";
import type {
  ClaimedTask,
  ClaimReply,
  ClaimRequest,
} from "../../store/queries/claim/claim-tasks.ts";
import { isCapped, type ClaimRules } from "../../store/queries/claim/pick-ready.ts";
import type { StartReply } from "../../store/queries/claim/start-tasks.ts";
import type { Store } from "../../store/store.ts";
import { BEGIN, COMMIT } from "../../store/transaction.ts";

/** The requests of one round of the claim loop. */
export interface ClaimRound {
  /** Prefetched tasks that got a slot. */
  readonly starts: readonly ClaimedTask[];
  /** Tasks to run now. */
  readonly claim: ClaimRequest | undefined;
  /** Tasks to hold until a slot is free. */
  readonly prefetch: ClaimRequest | undefined;
  readonly rules: ClaimRules | undefined;
}

export interface ClaimedAndStarted {
  readonly start: StartReply | undefined;
  readonly claim: ClaimReply | undefined;
  readonly prefetch: ClaimReply | undefined;
}

export async function runClaimRound(
  store: Store,
  connection: Connection,
  round: ClaimRound,
): Promise<ClaimedAndStarted> {
  const { starts, claim, prefetch, rules } = round;
  const capped = cappedQueues(round);
  const caps = capped === undefined ? undefined : rules?.queueCaps;
  const parts = [starts.length > 0, claim !== undefined, prefetch !== undefined];
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
    prefetch: prefetch === undefined ? undefined : store.prefetch(connection, prefetch),
    committed: needsTransaction ? connection.query(COMMIT) : undefined,
  }));
  const answers = await Promise.allSettled(Object.values<unknown>(steps));
  const failed = answers.find((answer) => answer.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return { start: await steps.start, claim: await steps.claim, prefetch: await steps.prefetch };
}

/** The queues whose caps must be counted; undefined: none. */
export function cappedQueues({ starts, claim, prefetch, rules }: ClaimRound): string[] | undefined {
  if (rules === undefined) return undefined;
  const lanes = [...(claim?.lanes ?? []), ...(prefetch?.lanes ?? [])];
  const queues = [...new Set([...starts, ...lanes].map(({ queue }) => queue))];
  return queues.length > 0 && isCapped(rules, queues) ? queues : undefined;
}

/** A claim that has its slots and is being sent. One of the two functions is called when its fate is known. */
export interface ClaimUnderWay {
  readonly round: ClaimRound;
  /** Starts the claimed tasks. */
  taken(connection: Connection, reply: ClaimedAndStarted): void;
  /** Its answer is lost, or was this error. */
  failed(error: unknown): void;
}
