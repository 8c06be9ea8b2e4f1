/** After a round trip: what it has started or claimed begins, or waits for a slot. */
import type { Connection } from "../store/connection.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import type { ClaimedAndStarted } from "./claiming/claim-transaction.ts";
import type { LoopPlan } from "./claiming/plan-claim.ts";
import { inClaimOrder } from "./claim-order.ts";
import type { AdoptedClaims } from "./claim-keeper.ts";
import type { HeldTasks } from "./held-tasks.ts";
import type { RunServices } from "./run-services.ts";
import { notifyWaiters } from "./settlement/after-commit.ts";
import { emitExpiries } from "./settlement/emit-attempt-events.ts";
import type { Reservation } from "./slots/slot-ledger.ts";
import { inTime, startedAhead } from "./started-ahead.ts";
import type { UnknownNames } from "./unknown-names.ts";

export interface Beginner {
  readonly held: HeldTasks;
  readonly unknown: UnknownNames;
  readonly services: RunServices;
  readonly queueRanks: ReadonlyMap<string, number>;
  readonly run: (task: ClaimedTask) => void;
}

export interface RoundTrip {
  readonly connection: Connection;
  readonly plan: LoopPlan;
  readonly reply: ClaimedAndStarted;
  /** Those of `slotsFor`. */
  readonly slots: Reservation;
}

/** Slots for what a round trip may bring. */
export function slotsFor(held: HeldTasks, { starts, claim }: LoopPlan): Reservation {
  return held.slots.reserve("claim", starts.length + (claim?.limit ?? 0));
}

/** True if it is not known of some whether they were started. */
export function beginTasks(
  beginner: Beginner,
  { connection, plan, reply, slots }: RoundTrip,
): boolean {
  const { held, services, run } = beginner;
  const { start, claim, ahead } = reply;
  const { runs = [], isUnclear = false } =
    start === undefined ? {} : startedAhead(held, plan.starts, start);
  for (const task of [...runs, ...inOrder(beginner, claim?.tasks ?? [])]) {
    slots.use(); // one after the other: a handler that ends at once may let others start
    if (held.isReturning(task)) held.fetchedAhead([{ ...task, isStarted: true }]);
    else run(task);
  }
  slots.release();
  held.fetchedAhead(inOrder(beginner, ahead?.tasks ?? []));
  const expired = [start, claim, ahead].flatMap((part) => part?.expired ?? []);
  notifyWaiters(services, connection, expired);
  emitExpiries(services, expired);
  return isUnclear;
}

/** Claims whose acknowledgement was lost. Beyond the slots there are, they were fetched ahead. */
export function beginAdopted(
  beginner: Beginner,
  { started, claimed }: AdoptedClaims,
  freeSlots: number,
): void {
  const slots = Math.max(0, freeSlots);
  const runs = beginner.unknown.putBack(started);
  for (const task of runs.slice(0, slots)) beginner.run(task);
  beginner.held.fetchedAhead([...runs.slice(slots), ...inOrder(beginner, claimed)]);
}

/** Nodes that were claimed too late end without having run, and tasks of unknown names return to their place. */
function inOrder(
  { held, unknown, queueRanks }: Pick<Beginner, "held" | "unknown" | "queueRanks">,
  claimed: ClaimedTask[],
): ClaimedTask[] {
  return inClaimOrder(unknown.putBack(inTime(held, claimed)), queueRanks);
}
