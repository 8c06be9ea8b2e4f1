/** Lends a worker's free slots to the sender beside it: see local-hosts.ts. */
import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { OutgoingTask } from "../engine/compose-task.ts";
import type { KeptSlots, LocalHost } from "../engine/local-hosts.ts";
import { claimIdOf } from "../store/queries/claim-id.ts";
import type { ClaimedTask } from "../store/queries/claim-tasks.ts";
import { claimBudget } from "./claim-budget.ts";
import type { ClaimDesk } from "./claim-desk.ts";
import { byLane } from "./claim-order.ts";
import type { HeldTasks } from "./held-tasks.ts";
import type { UnknownNames } from "./unknown-names.ts";
import type { WorkLoopOptions } from "./work-loop-options.ts";

/** Each is looked into by a statement that somebody waits for. */
export const MOST_LANES = 16;
/** Nobody who waits may keep slots empty for longer: a session that swallows what is sent, or a lock. */
export const KEEP_MS = 2_000;

export interface SlotKeeperOptions {
  readonly loop: Pick<WorkLoopOptions, "plan" | "config" | "registry" | "services">;
  readonly held: HeldTasks;
  readonly desk: ClaimDesk;
  readonly unknown: UnknownNames;
  /** Whether the worker starts anything at all now, and has not asked for work that would want the same slots. */
  readonly isFree: () => boolean;
  /** Whether the worker takes nothing more, and gives back what it cannot begin. */
  readonly isDraining: () => boolean;
  readonly run: (task: ClaimedTask) => unknown;
  /** Slots are free again, or claims may be stored that nobody knows of. */
  readonly onReturned: (isUnclear: boolean) => void;
}

export class SlotKeeper implements LocalHost {
  readonly #options: SlotKeeperOptions;
  /** Bodies begin in the worker's own asynchronous context, not in that of whoever happened to send them. */
  readonly #run: (task: ClaimedTask) => unknown;

  constructor(options: SlotKeeperOptions) {
    this.#options = options;
    this.#run = AsyncResource.bind(options.run);
  }

  keepSlots(tasks: readonly OutgoingTask[]): KeptSlots | undefined {
    const { held, desk, loop } = this.#options;
    const { registry, services } = loop;
    const now = performance.now();
    if (!this.#options.isFree() || held.aheadCount > 0 || !desk.isSated(now)) return undefined;
    const fitting = tasks.filter(
      ({ mayStartHere, name, queue }) =>
        mayStartHere && registry.has(name) && desk.takesFreely(queue),
    );
    const meant = fitting.sort(byLane(loop.plan.queueRanks)).slice(0, freeSlots(this.#options));
    if (meant.length === 0) return undefined;
    const lanes = desk.lanesWith(meant);
    if (lanes.length > MOST_LANES) return undefined;
    const claimSeed = randomUUID();
    const claimed = new Map(meant.map((task) => [task.id, claimedTask(task, claimSeed)]));
    return {
      tasks: new Set(meant),
      claims: { workerId: services.workerId, claimSeed, lanes },
      ...this.#keep(claimed, claimSeed),
    };
  }

  #keep(
    claimed: ReadonlyMap<string, ClaimedTask>,
    claimSeed: string,
  ): Pick<KeptSlots, "start" | "letGo"> {
    const { held, onReturned } = this.#options;
    const slots = held.slots.reserve("direct start", claimed.size);
    held.seeds.asked(claimSeed);
    let isOver = false;
    const letGo = (): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      slots.release();
      held.seeds.unanswered(claimSeed);
      onReturned(true);
    };
    const timer = setTimeout(letGo, KEEP_MS).unref();
    return {
      letGo,
      start: (started, at) => {
        if (isOver) return onReturned(true); // its slots are gone: the comparison of claims finds the tasks and runs them
        isOver = true;
        clearTimeout(timer);
        // In the next turn: the sender hears first that its tasks are sent.
        setImmediate(() => {
          for (const id of started) {
            const task = claimed.get(id);
            if (task === undefined) continue;
            slots.use(); // one after the other: a handler that ends at once may let others start
            this.#run({ ...task, enqueuedAt: at });
          }
          slots.release();
          held.seeds.answered(claimSeed);
          if (started.length < claimed.size) onReturned(false);
        });
      },
    };
  }
}

export function freeSlots({ held, loop }: Pick<SlotKeeperOptions, "held" | "loop">): number {
  const { busyCount: running, aheadCount: ahead } = held;
  return claimBudget(loop.plan, loop.config, { running, ahead }).now;
}

function claimedTask(task: OutgoingTask, claimSeed: string): ClaimedTask {
  const { id, name, queue, priority, input, options } = task;
  const claimId = claimIdOf(claimSeed, id);
  return {
    id,
    claimId,
    name,
    queue,
    priority,
    enqueuedAt: 0,
    attemptNo: 1,
    retryCount: 0,
    input,
    options,
    node: undefined,
  };
}
