/**
 * One round trip of a worker: end what has ended, start what got a slot, claim what fits, in one transaction, pipelined.
 * Then, behind the commit and with a snapshot of its own, tell those who wait.
 */
import type { Connection } from "../store/connection.ts";
import type { ClaimReply, ClaimRequest } from "../store/queries/claim-tasks.ts";
import type { SettledTask, SettleReply } from "../store/queries/settle-tasks.ts";
import type { StartReply } from "../store/queries/start-tasks.ts";
import { BEGIN, COMMIT } from "../store/transaction.ts";
import type { Store } from "../store/store.ts";

export interface Claim {
  readonly id: string;
  readonly claimId: string;
}

export interface CyclePlan {
  readonly settles: readonly SettledTask[];
  readonly starts: readonly Claim[];
  /** Tasks to run now. */
  readonly claim: ClaimRequest | undefined;
  /** Tasks to hold until a slot is free. */
  readonly ahead: ClaimRequest | undefined;
}

export interface CycleReply {
  readonly settle: SettleReply | undefined;
  readonly start: StartReply | undefined;
  readonly claim: ClaimReply | undefined;
  readonly ahead: ClaimReply | undefined;
}

export async function runCycle(
  store: Store,
  connection: Connection,
  plan: CyclePlan,
  onNotifyError: (error: unknown) => void,
): Promise<CycleReply> {
  const { settles, starts, claim, ahead } = plan;
  const steps = [settles.length > 0, starts.length > 0, claim !== undefined, ahead !== undefined];
  const isOne = steps.filter(Boolean).length === 1; // a lone statement is a transaction already

  // Issued in one go, answered in order. All are awaited below, so none is left to reject on its own.
  const begun = isOne ? undefined : connection.query(BEGIN);
  const settle = settles.length > 0 ? store.settleTasks(connection, settles) : undefined;
  const start = starts.length > 0 ? store.startTasks(connection, starts) : undefined;
  const claimed = claim === undefined ? undefined : store.claimAndStart(connection, claim);
  const fetched = ahead === undefined ? undefined : store.claimAhead(connection, ahead);
  const committed = isOne ? undefined : connection.query(COMMIT);
  tellWaiters(store, connection, endedIds(settles), onNotifyError);

  const results = await Promise.allSettled([begun, settle, start, claimed, fetched, committed]);
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return {
    settle: await settle,
    start: await start,
    claim: await claimed,
    ahead: await fetched,
  };
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

function endedIds(settles: readonly SettledTask[]): string[] {
  return settles.filter(({ edge }) => edge === "succeed" || edge === "fail").map(({ id }) => id);
}
