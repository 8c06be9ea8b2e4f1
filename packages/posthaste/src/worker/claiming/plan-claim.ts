/** What the claim loop asks for next: which prefetched tasks start, and how many tasks it claims. */
import type { ClaimedTask } from "../../store/queries/claim-tasks.ts";
import type { ClaimDesk } from "../claim-desk.ts";
import type { HeldTasks } from "../held-tasks.ts";
import type { ClaimPlan } from "./claim-transaction.ts";

export interface LoopPlan extends ClaimPlan {
  readonly starts: readonly ClaimedTask[];
}

export interface PlanClaim {
  readonly held: HeldTasks;
  readonly desk: ClaimDesk;
  readonly concurrency: number;
  readonly mayStart: boolean;
  readonly mayClaim: boolean;
}

/** Undefined: there is nothing to ask for. */
export function planClaim(given: PlanClaim, now: number): LoopPlan | undefined {
  const { held, desk, concurrency, mayStart, mayClaim } = given;
  const hasRoom = desk.mayStart(now);
  if (hasRoom) held.tryHeldBack();
  const next = mayStart ? held.nextAhead(concurrency - held.busyCount) : [];
  const waiting = next.filter(({ isStarted }) => isStarted !== true);
  const starts = hasRoom ? waiting : [];
  // Tasks that are stored as running start as soon as this request is sent.
  const begins = starts.length + next.length - waiting.length;
  const after = { running: held.busyCount + begins, ahead: held.aheadCount - begins };
  const { claim, ahead } =
    mayClaim && !held.isBehind ? desk.requests(now, after) : { claim: undefined, ahead: undefined };
  if (starts.length === 0 && claim === undefined && ahead === undefined) return undefined;
  return { starts, claim, ahead, rules: desk.rules };
}
