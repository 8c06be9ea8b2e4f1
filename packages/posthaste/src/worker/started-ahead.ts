/** What becomes of tasks that were claimed, and of those that were fetched ahead, when they are to run. */
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { StartReply } from "../store/queries/start-tasks.ts";
import type { HeldTasks } from "./held-tasks.ts";

export interface StartedAhead {
  /** To be run now. */
  readonly runs: readonly ClaimedTask[];
  /** Of some nothing is known: perhaps started by an earlier try whose acknowledgement was lost. */
  readonly isUnclear: boolean;
}

/** Runs what could be started, gives back what is paused, ends nodes that are late, keeps what waits for a cap. */
export function startedAhead(
  held: HeldTasks,
  asked: readonly ClaimedTask[],
  reply: StartReply,
): StartedAhead {
  const attemptNos = new Map(reply.started.map(({ id, attemptNo }) => [id, attemptNo]));
  const kept = new Set(reply.heldBack);
  const paused = new Set(reply.paused);
  const late = new Set(reply.lateNodes);
  // What was given back while it was being started does not run: its release is on its way.
  const stillHeld = held.stillAhead(asked);
  held.releaseAhead(({ id }) => paused.has(id));
  held.takeAhead(stillHeld.filter(({ id }) => !kept.has(id)));
  held.holdBack(stillHeld.filter(({ id }) => kept.has(id)));
  held.expire(stillHeld.filter(({ id }) => late.has(id)));
  const runs: ClaimedTask[] = [];
  let isUnclear = false;
  for (const task of stillHeld) {
    const attemptNo = attemptNos.get(task.id);
    if (attemptNo !== undefined) runs.push({ ...task, attemptNo });
    else if (!kept.has(task.id) && !paused.has(task.id) && !late.has(task.id)) {
      isUnclear = true;
      held.seeds.unanswered(task.claimId); // if an earlier start was the one that lost its answer, the claim is found stored
    }
  }
  return { runs, isUnclear };
}

/** Nodes that were claimed too late end without having run. */
export function inTime(held: HeldTasks, claimed: ClaimedTask[]): ClaimedTask[] {
  const late = claimed.filter(({ node }) => node?.isLate === true);
  if (late.length === 0) return claimed;
  held.expire(late);
  return claimed.filter((task) => !late.includes(task));
}
