/**
 * What a worker does after a commit has written ends, in one order, whichever completer wrote them:
 *
 *  1. It forgets the ends.
 *  2. Log and hooks hear how the attempts ended, before any task that the same commit claimed starts.
 *  3. It starts the tasks that the same commit claimed.
 *  4. It tells itself and other workers about tasks that are in a queue again, and about nodes that the commit sent.
 *  5. It notifies the waiters of tasks that ended with another status than requested, and of runs that ended. The completer
 *     notifies all other waiters itself, with the same packet that carries the ends.
 *  6. It looks for ends that were not written, and reports the claims that were lost.
 */
import { findLostClaims } from "../../engine/find-lost-claims.ts";
import { landedNodes } from "../../engine/move-nodes.ts";
import { WorkerWaker, type Landed } from "../../engine/wake-workers.ts";
import type { Connection } from "../../store/connection.ts";
import { NO_NEWS, type RunNews } from "../../store/queries/advance-workflows.ts";
import type { SettledTask, SettleReply } from "../../store/queries/settle-tasks.ts";
import type { EndedTask, HeldTasks } from "../held-tasks.ts";
import type { RunServices } from "../run-services.ts";
import { emitEnds, emitStoredEnds } from "./emit-attempt-events.ts";

export interface CommittedEnds {
  readonly reply: SettleReply;
  /** What the same transaction did to runs of workflows. */
  readonly news?: RunNews;
  /** Starts the tasks that the same transaction claimed. */
  readonly startClaimed?: () => void;
}

export interface AfterCommitOptions {
  readonly services: RunServices;
  readonly held: HeldTasks;
  /** A task is in a queue again, or a node was sent: this worker may claim it. */
  readonly onLanded: (landed: Landed) => void;
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
    { reply, news = NO_NEWS, startClaimed }: CommittedEnds,
  ): Promise<void> {
    const { services, held } = this.#options;
    try {
      held.written(ends);
      emitEnds(services, ends, reply);
    } finally {
      startClaimed?.(); // whatever a hook does: the loop waits for this
    }
    this.#wakeWorkers(connection, ends, news);
    const overridden = reply.overridden.map(({ id }) => id);
    notifyWaiters(services, connection, [...overridden, ...news.ended]);
    if (reply.settled !== ends.length) await this.#findUnwritten(connection, ends);
  }

  async close(): Promise<void> {
    await this.#waker.flush();
  }

  /** This worker knows when its own retries are due. Other workers hear of tasks that are due now. */
  #wakeWorkers(connection: Connection, ends: readonly EndedTask[], news: RunNews): void {
    const { onLanded } = this.#options;
    const others = landedNodes(news);
    for (const landed of others) onLanded(landed);
    for (const { queue, priority, edge, delayMs } of ends) {
      if (edge === "retry") onLanded({ queue, priority, due: delayMs ?? 0 });
      else if (edge === "release" || edge === "requeue")
        others.push({ queue, priority, due: "back" });
    }
    if (others.length > 0) this.#waker.announce(connection, others);
  }

  async #findUnwritten(connection: Connection, ends: readonly EndedTask[]): Promise<void> {
    const { services } = this.#options;
    const { lost, own } = await findLostClaims(services.database.store, connection, ends);
    emitStoredEnds(services, ends, own);
    for (const { id: task, name, claimId, edge } of lost) {
      services.log.warn(
        { task, name, claimId, edge },
        "claim lost; the task was taken from this worker, and this late result was dropped",
      );
    }
  }
}

/** Sends the notification behind a commit, on the session of that commit. A waiter that misses it polls. */
export function notifyWaiters(
  { database, log }: Pick<RunServices, "database" | "log">,
  connection: Connection,
  ids: readonly string[],
): void {
  if (ids.length === 0) return;
  database.store.awaitResults.notify(connection, ids).catch((error: unknown) => {
    log.debug({ error: String(error) }, "waiters were not notified; they will poll");
  });
}

/** Tasks that will not be tried again: their results can be read after the commit. */
export function endedIds(ends: readonly SettledTask[]): string[] {
  return ends.filter(({ edge }) => edge === "succeed" || edge === "fail").map(({ id }) => id);
}
