/**
 * The steps after a commit that has written ends, in one order for both completers:
 *
 *  1. It forgets the ends.
 *  2. It logs the ends and calls hooks, before any task that the same commit claimed starts.
 *  3. It starts the tasks that the same commit claimed.
 *  4. It notes its own retries and the nodes that the commit sent, and notifies other workers of these nodes and of released and requeued tasks.
 *  5. It notifies the waiters of tasks that ended with another status than requested, and of runs that ended. The
 *     writers notify all other waiters, with the same packet that carries the ends.
 *  6. It looks for ends that were not written, and reports the claims that were lost.
 */
import { WorkerWaker, type QueueHint } from "../../sending/wake-workers.ts";
import type { Connection } from "../../store/connection.ts";
import type { TaskEnd, SettleReply } from "../../store/queries/settle/settle-tasks.ts";
import type { RunNotifications } from "../../store/queries/workflow/advance-workflows.ts";
import type { Store } from "../../store/store.ts";
import { nodeHints } from "../../workflows/move-nodes.ts";
import type { AttemptServices } from "../execution/attempt-services.ts";
import { notifyWaiters, emitEnds, emitStoredEnds } from "../execution/emit-attempt-events.ts";
import type { EndedTask } from "../execution/ended-task.ts";
import type { InFlightTasks } from "../slots/in-flight.ts";

export interface CommittedEnds {
  readonly reply: SettleReply;
  /** The notifications that follow from runs which the same transaction advanced. */
  readonly notifications?: RunNotifications;
  /** Starts the tasks that the same transaction claimed. */
  readonly startClaimed?: () => void;
}

export interface AfterCommitOptions {
  readonly services: AttemptServices;
  readonly inFlight: InFlightTasks;
  /** A task is in a queue again, or a node was sent: this worker may claim it. */
  readonly onQueueHint: (hint: QueueHint) => void;
}

export class AfterCommit {
  readonly #options: AfterCommitOptions;
  readonly #waker: WorkerWaker;

  constructor(options: AfterCommitOptions) {
    const { services } = options;
    this.#options = options;
    this.#waker = new WorkerWaker(services.database.store, services.log);
  }

  async run(
    connection: Connection,
    ends: readonly EndedTask[],
    { reply, notifications, startClaimed }: CommittedEnds,
  ): Promise<void> {
    const { services, inFlight } = this.#options;
    try {
      inFlight.written(ends);
      if (reply.settled === ends.length) services.rollups.written(ends, reply);
      emitEnds(services, ends, reply);
    } finally {
      startClaimed?.(); // whatever a hook does: the loop waits for this
    }
    this.#wakeWorkers(connection, ends, notifications);
    const overridden = reply.overridden.map(({ id }) => id);
    notifyWaiters(services, connection, [...overridden, ...(notifications?.ended ?? [])]);
    if (reply.settled !== ends.length) await this.#findUnwritten(connection, ends);
  }

  async close(): Promise<void> {
    await this.#waker.flush();
  }

  /** This worker notes its own retries; other workers find a retry by survey. All workers are notified of released and requeued tasks. */
  #wakeWorkers(
    connection: Connection,
    ends: readonly EndedTask[],
    notifications: RunNotifications | undefined,
  ): void {
    const { onQueueHint } = this.#options;
    const others = notifications === undefined ? [] : nodeHints(notifications);
    for (const hint of others) onQueueHint(hint);
    for (const { queue, priority, edge, delayMs } of ends) {
      if (edge === "retry") onQueueHint({ queue, priority, due: delayMs ?? 0 });
      else if (edge === "release" || edge === "requeue")
        others.push({ queue, priority, due: "back" });
    }
    if (others.length > 0) this.#waker.notify(connection, others);
  }

  async #findUnwritten(connection: Connection, ends: readonly EndedTask[]): Promise<void> {
    const { services } = this.#options;
    const { lost, own } = await findLostClaims(services.database.store, connection, ends);
    services.rollups.found(ends, own);
    emitStoredEnds(services, ends, own);
    for (const { id: task, name, claimId, edge } of lost) {
      services.log.warn(
        { task, name, claimId, edge },
        "claim lost, the task was taken from this worker; dropping its late result",
      );
    }
  }
}

/** Ends that were dropped because their claim was lost, and the stored status of the others by id. */
async function findLostClaims<Settled extends TaskEnd>(
  store: Store,
  connection: Connection,
  settles: readonly Settled[],
): Promise<{ readonly lost: Settled[]; readonly own: ReadonlyMap<string, string> }> {
  const own = await store.findOwnCommits(connection, settles);
  // A task that was released, or retried before its handler ran, leaves no row with the claim. No result was dropped either.
  const leavesTrace = ({ edge, ran }: TaskEnd): boolean =>
    edge === "succeed" || edge === "fail" || edge === "expire" || (edge === "retry" && ran);
  return { lost: settles.filter((settled) => !own.has(settled.id) && leavesTrace(settled)), own };
}

/** Tasks that will not be tried again: their results can be read after the commit. */
export function endedIds(ends: readonly TaskEnd[]): string[] {
  return ends
    .filter(({ edge }) => edge === "succeed" || edge === "fail" || edge === "expire")
    .map(({ id }) => id);
}
