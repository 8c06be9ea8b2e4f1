/**
 * The ends of tasks that are nodes of runs. One transaction locks the runs, writes the ends, advances the runs and, if slots are
 * free, claims the next nodes (see chained-claims.ts). A locked run or a deadlock delays other nodes only.
 */
import type { Connection } from "../../store/connection.ts";
import type { ClaimReply } from "../../store/queries/claim/claim-tasks.ts";
import { moveNodes } from "../../workflows/move-nodes.ts";
import { lanesLeft, type ChainedClaim, type ChainedClaims } from "../claiming/chained-claims.ts";
import type { AttemptServices } from "../execution/attempt-services.ts";
import { notifyWaiters, reportExpired } from "../execution/emit-attempt-events.ts";
import type { EndedTask } from "../execution/ended-task.ts";
import { endedIds, type CommittedEnds } from "./after-commit.ts";

export class NodeEndWriter {
  readonly #services: AttemptServices;
  readonly #chainedClaims: ChainedClaims;
  /** Claims of transactions whose answer was lost. */
  #unclear: ChainedClaim[] = [];

  constructor(services: AttemptServices, chainedClaims: ChainedClaims) {
    this.#services = services;
    this.#chainedClaims = chainedClaims;
  }

  async write(
    connection: Connection,
    ends: readonly EndedTask[],
    isAlone: boolean,
  ): Promise<CommittedEnds> {
    const { store } = this.#services.database;
    const chainedClaim = isAlone ? undefined : this.#chainedClaims.claimFor(ends.length);
    const request = chainedClaim?.request;
    const taskIds = ends.map(({ id }) => id);
    try {
      const { moved, notifications, claimed } = await connection.together(() => {
        const written = moveNodes(store, connection, {
          taskIds,
          move: (db) => store.settleTasks(db, ends),
          claim: request,
        });
        notifyWaiters(this.#services, connection, endedIds(ends));
        return written;
      });
      if (chainedClaim === undefined || claimed === undefined)
        return { reply: moved, notifications };
      return {
        reply: moved,
        notifications: {
          ...notifications,
          woken: lanesLeft(notifications.woken, chainedClaim.request, claimed),
        },
        startClaimed: () => this.#startClaimed(connection, chainedClaim, claimed),
      };
    } catch (error) {
      if (chainedClaim !== undefined) this.#unclear.push(chainedClaim);
      throw error;
    }
  }

  /**
   * Called after a later transaction has written the same ends under the lock of the same runs: the unanswered transaction has ended by
   * then, and reconciliation can find its claims. An earlier search could miss them.
   */
  clearUp(): void {
    for (const chainedClaim of this.#unclear.splice(0)) chainedClaim.failed();
  }

  #startClaimed(connection: Connection, chainedClaim: ChainedClaim, claimed: ClaimReply): void {
    chainedClaim.taken(claimed);
    reportExpired(this.#services, connection, claimed.expired);
  }
}
