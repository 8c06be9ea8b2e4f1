/** Decides the next round of the claim loop: the prefetched tasks to start, and the number of tasks to claim. */
import type { InFlightTasks } from "../slots/in-flight.ts";
import type { ClaimRequester } from "./claim-requester.ts";
import type { ClaimRound } from "./claim-transaction.ts";
import { mayClaim, mayStart, type LoopMode } from "./loop-mode.ts";

export interface NextRound {
  readonly inFlight: InFlightTasks;
  readonly requester: ClaimRequester;
  readonly concurrency: number;
  readonly mode: LoopMode;
}

/** Undefined: there is nothing to ask for. */
export function nextRound(given: NextRound, now: number): ClaimRound | undefined {
  const { inFlight, requester, concurrency, mode } = given;
  const hasRoom = requester.mayStart(now);
  if (hasRoom) inFlight.tryHeldBack();
  const next = mayStart(mode) ? inFlight.nextPrefetched(concurrency - inFlight.busyCount) : [];
  const waiting = next.filter(({ isStoredRunning }) => isStoredRunning !== true);
  const starts = hasRoom ? waiting : [];
  // Tasks that are stored as running start as soon as this request is sent.
  const begins = starts.length + next.length - waiting.length;
  const after = {
    running: inFlight.busyCount + begins,
    prefetched: inFlight.prefetchedCount - begins,
  };
  const { claim, prefetch } =
    mayClaim(mode) && !inFlight.isBehind
      ? requester.requests(now, after)
      : { claim: undefined, prefetch: undefined };
  if (starts.length === 0 && claim === undefined && prefetch === undefined) return undefined;
  return { starts, claim, prefetch, rules: requester.rules };
}
