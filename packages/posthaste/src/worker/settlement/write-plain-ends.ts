/**
 * The ends of plain tasks, and behind them the notification of their waiters, in one packet. A claim can travel with them: where all
 * tasks succeeded and no cap has to be counted, ends and claim are one statement and one commit. Otherwise the claim's
 * transaction follows the ends in the same packet, so that it sees the room that they leave under caps.
 */
import type { Connection } from "../../store/connection.ts";
import { isCompletion } from "../../store/queries/complete-tasks.ts";
import type { SettleReply } from "../../store/queries/settle-tasks.ts";
import {
  cappedQueues,
  claimAndStart,
  type ClaimedAndStarted,
} from "../claiming/claim-transaction.ts";
import type { ClaimUnderWay } from "../claiming/claim-under-way.ts";
import type { EndedTask } from "../held-tasks.ts";
import type { RunServices } from "../run-services.ts";
import { endedIds, notifyWaiters, type CommittedEnds } from "./after-commit.ts";

export async function writePlainEnds(
  services: RunServices,
  connection: Connection,
  ends: readonly EndedTask[],
  claim: ClaimUnderWay | undefined,
): Promise<CommittedEnds> {
  const { written, claimed } = connection.together(() => {
    const sent = send(services, connection, ends, claim);
    notifyWaiters(services, connection, endedIds(ends));
    return sent;
  });
  const [reply, tasks] = await Promise.allSettled([written, claimed]);
  if (tasks.status === "rejected") claim?.failed(tasks.reason);
  const startClaimed = (): void => {
    if (tasks.status === "fulfilled" && tasks.value !== undefined)
      claim?.taken(connection, tasks.value);
  };
  if (reply.status === "fulfilled") return { reply: reply.value, startClaimed };
  startClaimed(); // they are this worker's, whatever became of the ends
  throw reply.reason;
}

interface Sent {
  readonly written: Promise<SettleReply>;
  readonly claimed: Promise<ClaimedAndStarted> | undefined;
}

function send(
  { database: { store } }: RunServices,
  connection: Connection,
  ends: readonly EndedTask[],
  claim: ClaimUnderWay | undefined,
): Sent {
  const plan = claim?.plan;
  if (plan?.claim === undefined || !isOneStatement(ends, plan)) {
    const written = store.settleTasks(connection, ends);
    return { written, claimed: plan && claimAndStart(store, connection, plan) };
  }
  const both = store.completeAndClaim(connection, ends, plan.claim);
  const none = { start: undefined, ahead: undefined };
  return {
    written: both.then(({ settle }) => settle),
    claimed: both.then((reply) => ({ ...none, claim: reply.claim })),
  };
}

function isOneStatement(ends: readonly EndedTask[], plan: ClaimUnderWay["plan"]): boolean {
  const isClaimOnly = plan.starts.length === 0 && plan.ahead === undefined;
  return isClaimOnly && cappedQueues(plan) === undefined && ends.every(isCompletion);
}
