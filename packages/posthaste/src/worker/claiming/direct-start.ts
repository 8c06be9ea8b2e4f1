/** Reserves free slots of a worker for tasks that the same app sends: see sending/send-together.ts. */
import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { Config } from "../../config/config.ts";
import type { WorkerSettings } from "../../config/worker-options.ts";
import type { OutgoingTask } from "../../sending/compose-task.ts";
import type { ReservedSlots, LocalWorker } from "../../sending/send-together.ts";
import { claimIdOf } from "../../store/queries/claim/claim-rows.ts";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import type { TaskRegistry } from "../execution/attempt-services.ts";
import type { InFlightTasks } from "../slots/in-flight.ts";
import type { ClaimRequester } from "./claim-requester.ts";
import { byLane } from "./lane-cursors.ts";
import type { UnknownNames } from "./unknown-names.ts";

/** The insert looks into each lane, and the sender waits for the insert. */
export const MOST_LANES = 16;
/** The longest that an unanswered insert, or a locked run, may keep slots reserved. */
export const MOST_RESERVED_MS = 2_000;

export interface SideClaimOptions {
  readonly config: Config;
  readonly settings: WorkerSettings;
  readonly registry: TaskRegistry;
  readonly workerId: string;
  readonly inFlight: InFlightTasks;
  readonly requester: ClaimRequester;
  readonly unknown: UnknownNames;
  /** Whether the worker may start tasks now and no claim is under way that needs the same slots. */
  readonly isFree: () => boolean;
  /** Whether the worker is stopping: it then releases tasks instead of starting them. */
  readonly isDraining: () => boolean;
  readonly run: (task: ClaimedTask) => unknown;
  /** Slots are free again. `isUnclear`: claims may be stored that the worker does not know. */
  readonly onReturned: (isUnclear: boolean) => void;
}

export class DirectStart implements LocalWorker {
  readonly #options: SideClaimOptions;
  /** Handlers start in the asynchronous context of the worker, not of the sender. */
  readonly #run: (task: ClaimedTask) => unknown;

  constructor(options: SideClaimOptions) {
    this.#options = options;
    this.#run = AsyncResource.bind(options.run);
  }

  reserveSlots(tasks: readonly OutgoingTask[]): ReservedSlots | undefined {
    const { inFlight, requester, registry, settings, workerId } = this.#options;
    const now = performance.now();
    if (!this.#options.isFree() || inFlight.prefetchedCount > 0 || !requester.isCaughtUp(now))
      return undefined;
    const fitting = tasks.filter(
      ({ mayStartHere, name, queue }) =>
        mayStartHere && registry.has(name) && requester.takesFreely(queue),
    );
    const meant = fitting.sort(byLane(settings.queueRanks)).slice(0, requester.freeSlots(inFlight));
    if (meant.length === 0) return undefined;
    const lanes = requester.lanesWith(meant);
    if (lanes.length > MOST_LANES) return undefined;
    const claimSeed = randomUUID();
    const claimed = new Map(meant.map((task) => [task.id, claimedTask(task, claimSeed)]));
    return {
      tasks: new Set(meant),
      claims: { workerId, claimSeed, lanes },
      ...this.#reserve(claimed, claimSeed),
    };
  }

  #reserve(
    claimed: ReadonlyMap<string, ClaimedTask>,
    claimSeed: string,
  ): Pick<ReservedSlots, "start" | "giveUp"> {
    const { inFlight, onReturned } = this.#options;
    const slots = inFlight.slots.reserve("direct start", claimed.size);
    inFlight.seeds.asked(claimSeed);
    let isOver = false;
    const giveUp = (): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      slots.release();
      inFlight.seeds.unanswered(claimSeed);
      onReturned(true);
    };
    const timer = setTimeout(giveUp, MOST_RESERVED_MS).unref();
    return {
      giveUp,
      start: (started, at) => {
        if (isOver) return onReturned(true); // its slots are gone: reconciliation finds the claims and starts them
        isOver = true;
        clearTimeout(timer);
        // In the next turn: `send` resolves before the handler starts.
        setImmediate(() => {
          for (const id of started) {
            const task = claimed.get(id);
            if (task === undefined) continue;
            slots.use(); // one after the other: a handler that ends at once may let others start
            this.#run({ ...task, enqueuedAt: at });
          }
          slots.release();
          inFlight.seeds.answered(claimSeed);
          if (started.length < claimed.size) onReturned(false);
        });
      },
    };
  }
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
