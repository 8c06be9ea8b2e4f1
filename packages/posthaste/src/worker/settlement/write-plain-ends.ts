/**
 * The ends of plain tasks, and behind them the notification of their waiters, in one packet. A claim can travel with them: where all
 * tasks succeeded and no cap has to be counted, ends and claim are one statement and one commit. Otherwise the claim's
 * transaction follows the ends in the same packet, so that it sees the room that they leave under caps.
 */
import type { Connection } from "../../store/connection.ts";
import { isCompletion } from "../../store/queries/settle/complete-tasks.ts";
import type { SettleReply } from "../../store/queries/settle/settle-tasks.ts";
import {
  cappedQueues,
  runClaimRound,
  type ClaimedAndStarted,
  type ClaimUnderWay,
} from "../claiming/claim-transaction.ts";
import type { AttemptServices } from "../execution/attempt-services.ts";
import { notifyWaiters } from "../execution/emit-attempt-events.ts";
import type { EndedTask } from "../execution/ended-task.ts";
import { endedIds, type CommittedEnds } from "./after-commit.ts";

export async function writePlainEnds(
  services: AttemptServices,
  connection: Connection,
  ends: readonly EndedTask[],
  claim: ClaimUnderWay | undefined,
): Promise<CommittedEnds> {
  const { written, claimed } = connection.together(() => send(services, connection, ends, claim));
  const [reply, tasks] = await Promise.allSettled([written, claimed]);
  if (tasks.status === "rejected") claim?.failed(tasks.reason);
  const startClaimed = (): void => {
    if (tasks.status === "fulfilled" && tasks.value !== undefined)
      claim?.taken(connection, tasks.value);
  };
  if (reply.status === "fulfilled") return { reply: reply.value, startClaimed };
  startClaimed(); // the claims are valid, whatever became of the ends
  throw reply.reason;
}

function send(
  services: AttemptServices,
  connection: Connection,
  ends: readonly EndedTask[],
  claim: ClaimUnderWay | undefined,
): { written: Promise<SettleReply>; claimed?: Promise<ClaimedAndStarted> | undefined } {
  const { store } = services.database;
  const round = claim?.round;
  const notify = (): void => notifyWaiters(services, connection, endedIds(ends));
  if (round?.claim === undefined || !isOneStatement(ends, round)) {
    const written = store.settleTasks(connection, ends);
    notify(); // before the claim, which may wait for a lock under which a cap is counted
    return { written, claimed: round && runClaimRound(store, connection, round) };
  }
  const both = store.completeAndClaim(connection, ends, round.claim);
  notify();
  const none = { start: undefined, prefetch: undefined };
  return {
    written: both.then(({ settle }) => settle),
    claimed: both.then((reply) => ({ ...none, claim: reply.claim })),
  };
}

function isOneStatement(ends: readonly EndedTask[], round: ClaimUnderWay["round"]): boolean {
  const isClaimOnly = round.starts.length === 0 && round.prefetch === undefined;
  return isClaimOnly && cappedQueues(round) === undefined && ends.every(isCompletion);
}
