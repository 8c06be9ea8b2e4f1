/**
 * One round trip of a worker: end what has ended, start what got a slot, claim what fits, pipelined, in one transaction.
 * Then, behind the commit and with a snapshot of its own, tell those who wait.
 *
 * Where a cap has to be counted there are two transactions, still in one round trip: an end must not wait for the lock
 * under which a cap is counted.
 */
import type { Connection } from "../store/connection.ts";
import type { ClaimReply, ClaimRequest } from "../store/queries/claim-tasks.ts";
import { isCompletion } from "../store/queries/complete-tasks.ts";
import { isCapped, type ClaimRules } from "../store/queries/pick-ready.ts";
import type { SettledTask, SettleReply } from "../store/queries/settle-tasks.ts";
import type { StartReply } from "../store/queries/start-tasks.ts";
import { BEGIN, COMMIT } from "../store/transaction.ts";
import type { Store } from "../store/store.ts";

export interface ToStart {
  readonly id: string;
  readonly claimId: string;
  readonly queue: string;
}

export interface CyclePlan {
  readonly settles: readonly SettledTask[];
  readonly starts: readonly ToStart[];
  /** Tasks to run now. */
  readonly claim: ClaimRequest | undefined;
  /** Tasks to hold until a slot is free. */
  readonly ahead: ClaimRequest | undefined;
  readonly rules: ClaimRules | undefined;
}

export interface CycleReply {
  readonly settle: SettleReply | undefined;
  readonly start: StartReply | undefined;
  readonly claim: ClaimReply | undefined;
  readonly ahead: ClaimReply | undefined;
}

export function runCycle(
  store: Store,
  connection: Connection,
  plan: CyclePlan,
  onNotifyError: (error: unknown) => void,
): Promise<CycleReply> {
  return connection.together(() => {
    const reply = runUsual(store, connection, plan) ?? runSteps(store, connection, plan);
    tellWaiters(store, connection, endedIds(plan.settles), onNotifyError);
    return reply;
  });
}

/** What a busy worker does nearly always, in one statement: all that ended succeeded, and others take their place. */
function runUsual(
  store: Store,
  connection: Connection,
  plan: CyclePlan,
): Promise<CycleReply> | undefined {
  const { settles, starts, claim, ahead } = plan;
  const isUsual = settles.length > 0 && starts.length === 0 && ahead === undefined;
  if (!isUsual || claim === undefined || !settles.every(isCompletion)) return undefined;
  if (cappedQueues(plan) !== undefined) return undefined; // the locks come first
  return store
    .completeAndClaim(connection, settles, claim)
    .then((reply) => ({ ...reply, start: undefined, ahead: undefined }));
}

async function runSteps(
  store: Store,
  connection: Connection,
  plan: CyclePlan,
): Promise<CycleReply> {
  const { settles, starts, claim, ahead, rules } = plan;
  const capped = cappedQueues(plan);
  const steps = [settles.length > 0, starts.length > 0, claim !== undefined, ahead !== undefined];
  const isOne = steps.filter(Boolean).length === 1; // a lone statement is a transaction already
  const begins = capped !== undefined || !isOne;
  const settle = (): Promise<SettleReply> | undefined =>
    settles.length > 0 ? store.settleTasks(connection, settles) : undefined;

  // Issued in one go, answered in order. All are awaited below, so none is left to reject on its own.
  const settledBefore = capped === undefined ? undefined : settle();
  const begun = begins ? connection.query(BEGIN) : undefined;
  const locked =
    capped === undefined || rules === undefined
      ? undefined
      : store.lockCaps(connection, rules, capped);
  const settled = capped === undefined ? settle() : undefined;
  const caps = capped === undefined ? undefined : rules?.queueCaps;
  const start = starts.length > 0 ? store.startTasks(connection, starts, caps) : undefined;
  const claimed = claim === undefined ? undefined : store.claimAndStart(connection, claim);
  const fetched = ahead === undefined ? undefined : store.claimAhead(connection, ahead);
  const committed = begins ? connection.query(COMMIT) : undefined;

  const results = await Promise.allSettled([
    settledBefore,
    begun,
    locked,
    settled,
    start,
    claimed,
    fetched,
    committed,
  ]);
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return {
    settle: await (settledBefore ?? settled),
    start: await start,
    claim: await claimed,
    ahead: await fetched,
  };
}

/** The queues whose caps must be counted for this round trip; undefined: none. */
function cappedQueues({ starts, claim, ahead, rules }: CyclePlan): string[] | undefined {
  const lanes = [...(claim?.lanes ?? []), ...(ahead?.lanes ?? [])];
  const queues = [...new Set([...starts, ...lanes].map(({ queue }) => queue))];
  return rules !== undefined && queues.length > 0 && isCapped(rules, queues) ? queues : undefined;
}

/** After the commit that ended them. A waiter that is not told polls, so a failure here is no failure of the task. */
export function tellWaiters(
  store: Store,
  connection: Connection,
  ids: readonly string[],
  onError: (error: unknown) => void,
): void {
  if (ids.length > 0) store.awaitResults.notify(connection, ids).catch(onError);
}

/** Of those that nobody will try again. */
export function endedIds(settles: readonly SettledTask[]): string[] {
  return settles.filter(({ edge }) => edge === "succeed" || edge === "fail").map(({ id }) => id);
}
