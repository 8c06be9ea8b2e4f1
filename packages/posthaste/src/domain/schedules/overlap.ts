/** The fate of a slot that is due while the schedule's last task or run has not ended. */
export const overlapPolicies = ["allow", "skip", "buffer", "cancel"] as const;
/**
 * `allow`: it fires. `skip`: it does not. `buffer`: it fires when that has ended; one slot is kept, others are skipped. `cancel`: the same, and
 * the cancellation of what runs is requested.
 */
export type OverlapPolicy = (typeof overlapPolicies)[number];

export interface OverlapState {
  /** The last task or run has not ended. */
  readonly isBusy: boolean;
  /** The slot that waits for its end. */
  readonly buffered: number | null;
}

export interface OverlapDecision {
  readonly fire: readonly number[];
  readonly skipped: readonly number[];
  readonly buffered: number | null;
}

/** `due`, oldest first. A slot that fires here is what the next one overlaps with. */
export function decideOverlap(
  policy: OverlapPolicy,
  { isBusy, buffered }: OverlapState,
  due: readonly number[],
): OverlapDecision {
  if (policy === "allow") {
    return { fire: buffered === null ? due : [buffered, ...due], skipped: [], buffered: null };
  }
  const fire: number[] = [];
  const skipped: number[] = [];
  let [isTaken, waiting] = [isBusy, buffered];
  if (!isTaken && waiting !== null) {
    fire.push(waiting);
    [isTaken, waiting] = [true, null];
  }
  for (const slot of due) {
    if (!isTaken) {
      fire.push(slot);
      isTaken = true;
    } else if (policy !== "skip" && waiting === null) waiting = slot;
    else skipped.push(slot);
  }
  // A slot that waited before the policy became skip still fires: it was never skipped.
  return { fire, skipped, buffered: waiting };
}
