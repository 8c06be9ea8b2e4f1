/**
 * The ends of tasks that are nodes of runs. One transaction locks the runs, writes the ends, advances the runs and, if slots are
 * free, claims the next nodes (see follow-ups.ts). A locked run or a deadlock delays other nodes only.
 */
import { moveNodes } from "../../engine/move-nodes.ts";
import type { Connection } from "../../store/connection.ts";
import type { ClaimReply } from "../../store/queries/claim-tasks.ts";
import { leftInLine, type FollowUp, type FollowUps } from "../follow-ups.ts";
import type { EndedTask } from "../held-tasks.ts";
import type { RunServices } from "../run-services.ts";
import { endedIds, notifyWaiters, type CommittedEnds } from "./after-commit.ts";
import { emitExpiries } from "./emit-attempt-events.ts";

export class NodeEndWriter {
  readonly #services: RunServices;
  readonly #followUps: FollowUps;
  /** Claims of transactions whose answer was lost. */
  #unclear: FollowUp[] = [];

  constructor(services: RunServices, followUps: FollowUps) {
    this.#services = services;
    this.#followUps = followUps;
  }

  async write(
    connection: Connection,
    ends: readonly EndedTask[],
    isAlone: boolean,
  ): Promise<CommittedEnds> {
    const { store } = this.#services.database;
    const followUp = isAlone ? undefined : this.#followUps.claimFor(ends.length);
    const request = followUp?.request;
    const taskIds = ends.map(({ id }) => id);
    try {
      const { moved, news, claimed } = await connection.together(() => {
        const written = moveNodes(store, connection, {
          taskIds,
          move: (db) => store.settleTasks(db, ends),
          claim: request,
        });
        notifyWaiters(this.#services, connection, endedIds(ends));
        return written;
      });
      if (followUp === undefined || claimed === undefined) return { reply: moved, news };
      return {
        reply: moved,
        news: { ...news, woken: leftInLine(news.woken, followUp.request, claimed) },
        startClaimed: () => this.#startClaimed(connection, followUp, claimed),
      };
    } catch (error) {
      if (followUp !== undefined) this.#unclear.push(followUp);
      throw error;
    }
  }

  /**
   * To be called after a later transaction has written the same ends under the lock of the same runs: a transaction whose answer was
   * lost is over by then, and its claims can be found. A search before that could miss them.
   */
  clearUp(): void {
    for (const followUp of this.#unclear.splice(0)) followUp.failed();
  }

  #startClaimed(connection: Connection, followUp: FollowUp, claimed: ClaimReply): void {
    followUp.taken(claimed);
    notifyWaiters(this.#services, connection, claimed.expired);
    emitExpiries(this.#services, claimed.expired);
  }
}
