/** Starts the tasks of an answered claim, or keeps them as prefetched until a slot is free. */
import type { Connection } from "../../store/connection.ts";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import type { StartReply } from "../../store/queries/claim/start-tasks.ts";
import type { AttemptServices } from "../execution/attempt-services.ts";
import { reportExpired } from "../execution/emit-attempt-events.ts";
import type { InFlightTasks } from "../slots/in-flight.ts";
import type { Reservation } from "../slots/slot-ledger.ts";
import type { ClaimedAndStarted, ClaimRound } from "./claim-transaction.ts";
import { inClaimOrder } from "./lane-cursors.ts";
import type { AdoptedClaims } from "./reconcile-claims.ts";
import type { UnknownNames } from "./unknown-names.ts";

export interface ClaimStarter {
  readonly inFlight: InFlightTasks;
  readonly unknown: UnknownNames;
  readonly services: AttemptServices;
  readonly queueRanks: ReadonlyMap<string, number>;
  readonly run: (task: ClaimedTask) => void;
}

export interface ClaimAnswer {
  readonly connection: Connection;
  readonly round: ClaimRound;
  readonly reply: ClaimedAndStarted;
  /** The reservation of `slotsFor`. */
  readonly slots: Reservation;
}

/** Reserves slots for all tasks that the round may bring. */
export function slotsFor(inFlight: InFlightTasks, { starts, claim }: ClaimRound): Reservation {
  return inFlight.slots.reserve("claim", starts.length + (claim?.limit ?? 0));
}

/** Returns true if the reply leaves open whether some tasks were started. */
export function startClaimed(
  starter: ClaimStarter,
  { connection, round, reply, slots }: ClaimAnswer,
): boolean {
  const { inFlight, services, run } = starter;
  const { start, claim, prefetch } = reply;
  const { started = [], isUnclear = false } =
    start === undefined ? {} : applyStart(inFlight, round.starts, start);
  for (const task of [...started, ...inOrder(starter, claim?.tasks ?? [])]) {
    slots.use(); // one after the other: a handler that ends at once may let others start
    if (inFlight.isReturning(task)) inFlight.addPrefetched([{ ...task, isStoredRunning: true }]);
    else run(task);
  }
  slots.release();
  inFlight.addPrefetched(inOrder(starter, prefetch?.tasks ?? []));
  const expired = [start, claim, prefetch].flatMap((part) => part?.expired ?? []);
  reportExpired(services, connection, expired);
  return isUnclear;
}

/**
 * Releases prefetched tasks of paused queues, ends late nodes, keeps tasks that wait for a cap, and returns the started ones. Unclear: the
 * reply does not name some tasks, because an earlier start whose answer was lost may have started them.
 */
function applyStart(
  inFlight: InFlightTasks,
  asked: readonly ClaimedTask[],
  reply: StartReply,
): { readonly started: ClaimedTask[]; readonly isUnclear: boolean } {
  const attemptNos = new Map(reply.started.map(({ id, attemptNo }) => [id, attemptNo]));
  const kept = new Set(reply.heldBack);
  const paused = new Set(reply.paused);
  const late = new Set(reply.lateNodes);
  // A task that was released while it was being started does not run: its release is about to be written.
  const stillHeld = inFlight.stillPrefetched(asked);
  inFlight.releasePrefetched(({ id }) => paused.has(id));
  inFlight.removePrefetched(stillHeld.filter(({ id }) => !kept.has(id)));
  inFlight.holdBack(stillHeld.filter(({ id }) => kept.has(id)));
  inFlight.expire(stillHeld.filter(({ id }) => late.has(id)));
  const started: ClaimedTask[] = [];
  let isUnclear = false;
  for (const task of stillHeld) {
    const attemptNo = attemptNos.get(task.id);
    if (attemptNo !== undefined) started.push({ ...task, attemptNo });
    else if (!kept.has(task.id) && !paused.has(task.id) && !late.has(task.id)) {
      isUnclear = true;
      inFlight.seeds.unanswered(task.claimId); // reconciliation finds the claim if an earlier start committed
    }
  }
  return { started, isUnclear };
}

/** Starts claims whose answer was lost, as far as slots are free. The rest counts as prefetched. */
export function startAdopted(
  starter: ClaimStarter,
  { started, claimed }: AdoptedClaims,
  freeSlots: number,
): void {
  const slots = Math.max(0, freeSlots);
  const known = starter.unknown.putBack(started);
  for (const task of known.slice(0, slots)) starter.run(task);
  starter.inFlight.addPrefetched([...known.slice(slots), ...inOrder(starter, claimed)]);
}

/** The tasks to start, in claim order. Nodes past their deadline end, and tasks of unknown names return to their place. */
export function inOrder(
  { inFlight, unknown, queueRanks }: Pick<ClaimStarter, "inFlight" | "unknown" | "queueRanks">,
  claimed: ClaimedTask[],
): ClaimedTask[] {
  return inClaimOrder(unknown.putBack(inTime(inFlight, claimed)), queueRanks);
}

/** Ends nodes that were claimed after their deadline, and returns the other tasks. */
function inTime(inFlight: InFlightTasks, claimed: ClaimedTask[]): ClaimedTask[] {
  const late = claimed.filter(({ node }) => node?.isLate === true);
  if (late.length === 0) return claimed;
  inFlight.expire(late);
  return claimed.filter((task) => !late.includes(task));
}
