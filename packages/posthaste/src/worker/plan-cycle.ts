/** What a round trip of a worker carries. */
import type { CyclePlan } from "../engine/work-cycle.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { ClaimDesk } from "./claim-desk.ts";
import type { EndedTask, HeldTasks } from "./held-tasks.ts";

export interface LoopPlan extends CyclePlan {
  readonly settles: readonly EndedTask[];
  readonly starts: readonly ClaimedTask[];
}

export interface CycleMeans {
  readonly held: HeldTasks;
  readonly desk: ClaimDesk;
  readonly concurrency: number;
  readonly mayStart: boolean;
  readonly mayClaim: boolean;
  /** Not where they are written in a lane of their own. */
  readonly writesEnds: boolean;
}

/** Where ends are written beside the claims: so many that are not written yet, and nothing more is claimed. */
const MOST_UNWRITTEN = 5_000;

/** Everything that is ready now, or undefined if nothing is. */
export function planCycle(means: CycleMeans, now: number): LoopPlan | undefined {
  const { held, desk, concurrency, mayStart, mayClaim, writesEnds } = means;
  const settles: readonly EndedTask[] = writesEnds ? held.nextEnds(now) : [];
  const hasEnded = settles.length > 0;
  const free = concurrency - held.busyCount;
  const isRoom = desk.mayStart(now, hasEnded);
  if (isRoom) held.tryHeldBack();
  const next = mayStart ? held.nextAhead(free) : [];
  const waiting = next.filter(({ isStarted }) => isStarted !== true);
  const starts = isRoom ? waiting : [];
  // Those that are stored as running begin as soon as this is on its way.
  const begins = starts.length + next.length - waiting.length;
  const after = { running: held.busyCount + begins, ahead: held.aheadCount - begins };
  const isBehind = !writesEnds && held.endCount >= MOST_UNWRITTEN;
  const { claim, ahead } =
    mayClaim && !isBehind
      ? desk.requests(now, after, hasEnded)
      : { claim: undefined, ahead: undefined };
  if (settles.length + starts.length === 0 && claim === undefined && ahead === undefined)
    return undefined;
  return { settles, starts, claim, ahead, rules: desk.rules };
}
