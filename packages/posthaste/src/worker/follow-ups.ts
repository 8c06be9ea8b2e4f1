/**
 * What follows in a workflow is claimed by the transaction that ends what it followed: a step of a run is one commit
 * instead of two, and nobody has to be told.
 *
 * It is a claim like any other, of what is first in line. It is made where the worker has slots free and nothing else to
 * ask for; where there is more work than slots, the loop's own claims are the better ones.
 */
import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { RunNews } from "../store/queries/advance-workflows.ts";
import type { ClaimedTask, ClaimReply, ClaimRequest } from "../store/queries/claim-tasks.ts";
import { inClaimOrder } from "./claim-order.ts";
import { endOf } from "./held-tasks.ts";
import type { Reservation } from "./slots/slot-ledger.ts";
import { KEEP_MS, freeSlots, MOST_LANES, type SlotKeeperOptions } from "./slot-keeper.ts";
import { inTime } from "./started-ahead.ts";

/** A claim that is made while nodes end. One of the two must be called when its fate is known. */
export interface FollowUp {
  readonly request: ClaimRequest;
  taken(reply: ClaimReply): void;
  /** Nobody knows what became of it. */
  failed(): void;
}

export class FollowUps {
  readonly #options: SlotKeeperOptions;
  /** Bodies begin in the worker's own asynchronous context, not in that of the body before them. */
  readonly #run: (task: ClaimedTask) => unknown;

  constructor(options: SlotKeeperOptions) {
    this.#options = options;
    this.#run = AsyncResource.bind(options.run);
  }

  /** For the slots that so many nodes leave, and one more: a claim that comes back short has left nothing in line. */
  claimFor(nodes: number): FollowUp | undefined {
    const { held, desk } = this.#options;
    const now = performance.now();
    if (!this.#options.isFree() || held.aheadCount > 0 || !desk.isSated(now)) return undefined;
    const limit = Math.min(nodes + 1, freeSlots(this.#options));
    const request = limit > 0 ? desk.requestBeside(limit) : undefined;
    if (request === undefined || request.lanes.length > MOST_LANES) return undefined;
    return this.#keep({ ...request, claimSeed: randomUUID() });
  }

  #keep(request: ClaimRequest & { readonly claimSeed: string }): FollowUp {
    const { held, desk, unknown, onReturned, loop } = this.#options;
    const { claimSeed, limit } = request;
    const slots = held.slots.reserve("chained claim", limit);
    held.seeds.asked(claimSeed);
    // A run that somebody keeps locked must not keep slots empty. What is claimed after that waits for others.
    const timer = setTimeout(() => {
      slots.release();
      onReturned(false);
    }, KEEP_MS).unref();
    const over = (isUnclear: boolean): void => {
      clearTimeout(timer);
      slots.release();
      if (isUnclear) held.seeds.unanswered(claimSeed);
      else held.seeds.answered(claimSeed);
      onReturned(isUnclear);
    };
    return {
      request,
      failed: () => over(true),
      taken: (reply) => {
        desk.fedBeside(reply);
        const claimed = unknown.putBack(inTime(held, reply.tasks));
        const tasks = inClaimOrder(claimed, loop.plan.queueRanks);
        for (const task of tasks) this.#begin(task, slots);
        over(false);
      },
    };
  }

  #begin(task: ClaimedTask, slots: Reservation): void {
    const { held, isDraining } = this.#options;
    if (isDraining()) held.end({ ...endOf(task), edge: "release", ran: false });
    else if (!held.isReturning(task) && (slots.use() || freeSlots(this.#options) > 0))
      this.#run(task);
    else held.fetchedAhead([{ ...task, isStarted: true }]);
  }
}

/** Where something may still be in line after the claim: more than it took, or tasks of names that it left to others. */
export function leftInLine(
  woken: RunNews["woken"],
  { lanes, rules }: ClaimRequest,
  { isFull }: ClaimReply,
): RunNews["woken"] {
  const leavesNames = (rules?.unknownNames ?? null) !== null;
  if (isFull || leavesNames) return woken;
  return woken.filter(
    ([queue, priority]) =>
      !lanes.some((lane) => lane.queue === queue && lane.priority === priority),
  );
}
