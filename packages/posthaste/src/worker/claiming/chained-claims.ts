/**
 * The transaction that ends a node of a workflow also claims: the next node starts after one commit instead of two, without a
 * notification.
 *
 * A chained claim takes the first due tasks, like any other claim. It is made when the worker has free slots and knows of no due
 * task; when there are more tasks than slots, the claims of the loop are better.
 */
import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type {
  ClaimedTask,
  ClaimReply,
  ClaimRequest,
} from "../../store/queries/claim/claim-tasks.ts";
import type { RunNotifications } from "../../store/queries/workflow/advance-workflows.ts";
import { endOf } from "../execution/ended-task.ts";
import type { Reservation } from "../slots/slot-ledger.ts";
import { MOST_RESERVED_MS, MOST_LANES, type SideClaimOptions } from "./direct-start.ts";
import { inOrder } from "./start-claimed.ts";

/** A claim that is made while nodes end. One of the two must be called when its fate is known. */
export interface ChainedClaim {
  readonly request: ClaimRequest;
  taken(reply: ClaimReply): void;
  /** Its answer was lost. */
  failed(): void;
}

export class ChainedClaims {
  readonly #options: SideClaimOptions;
  /** Handlers start in the asynchronous context of the worker, not of the handler that ended. */
  readonly #run: (task: ClaimedTask) => unknown;

  constructor(options: SideClaimOptions) {
    this.#options = options;
    this.#run = AsyncResource.bind(options.run);
  }

  /** A claim for the slots that `nodes` leave, and one more: an answer shorter than that has taken all due tasks. */
  claimFor(nodes: number): ChainedClaim | undefined {
    const { inFlight, requester } = this.#options;
    const now = performance.now();
    if (!this.#options.isFree() || inFlight.prefetchedCount > 0 || !requester.isCaughtUp(now))
      return undefined;
    const limit = Math.min(nodes + 1, requester.freeSlots(inFlight));
    const request = limit > 0 ? requester.requestBeside(limit) : undefined;
    if (request === undefined || request.lanes.length > MOST_LANES) return undefined;
    return this.#reserve({ ...request, claimSeed: randomUUID() });
  }

  #reserve(request: ClaimRequest & { readonly claimSeed: string }): ChainedClaim {
    const { inFlight, requester, unknown, onReturned, settings } = this.#options;
    const { claimSeed, limit } = request;
    const slots = inFlight.slots.reserve("chained claim", limit);
    inFlight.seeds.asked(claimSeed);
    // A locked run must not keep slots empty. Tasks that it claims later wait for a slot.
    const timer = setTimeout(() => {
      slots.release();
      onReturned(false);
    }, MOST_RESERVED_MS).unref();
    const over = (isUnclear: boolean): void => {
      clearTimeout(timer);
      slots.release();
      if (isUnclear) inFlight.seeds.unanswered(claimSeed);
      else inFlight.seeds.answered(claimSeed);
      onReturned(isUnclear);
    };
    return {
      request,
      failed: () => over(true),
      taken: (reply) => {
        requester.onChainedReply(reply);
        const tasks = inOrder({ inFlight, unknown, queueRanks: settings.queueRanks }, reply.tasks);
        for (const task of tasks) this.#begin(task, slots);
        over(false);
      },
    };
  }

  #begin(task: ClaimedTask, slots: Reservation): void {
    const { inFlight, requester, isDraining } = this.#options;
    if (isDraining()) inFlight.end({ ...endOf(task), edge: "release", ran: false });
    else if (!inFlight.isReturning(task) && (slots.use() || requester.freeSlots(inFlight) > 0))
      this.#run(task);
    else inFlight.addPrefetched([{ ...task, isStoredRunning: true }]);
  }
}

/** Lanes that may still have due tasks after the claim: it was full, or it left tasks of unknown names to other workers. */
export function lanesLeft(
  woken: RunNotifications["woken"],
  { lanes, rules }: ClaimRequest,
  { isFull }: ClaimReply,
): RunNotifications["woken"] {
  const leavesNames = (rules?.unknownNames ?? null) !== null;
  if (isFull || leavesNames) return woken;
  return woken.filter(
    ([queue, priority]) =>
      !lanes.some((lane) => lane.queue === queue && lane.priority === priority),
  );
}
