/**
 * Where a worker writes the ends of tasks that are nodes of runs: on a session of its own, in transactions of their own. A
 * run that somebody holds locked, or a deadlock, keeps nobody waiting but other nodes.
 */
import { landedNodes, moveNodes, tellNews } from "../engine/move-nodes.ts";
import { WorkerWaker, type Landed } from "../engine/wake-workers.ts";
import { tellWaiters } from "../engine/work-cycle.ts";
import type { Connection } from "../store/connection.ts";
import type { RunNews } from "../store/queries/advance-workflows.ts";
import type { ClaimReply } from "../store/queries/claim-tasks.ts";
import type { SettleReply } from "../store/queries/settle-tasks.ts";
import { announceEnds, announceExpired } from "./announce-runs.ts";
import { EndLane } from "./end-lane.ts";
import { leftInLine, type FollowUp, type FollowUps } from "./follow-ups.ts";
import { whatCameBack, type EndedTask, type HeldTasks } from "./held-tasks.ts";
import { reviewSettles } from "./review-settles.ts";
import type { RunServices } from "./run-services.ts";
import { watchLink } from "./watch-link.ts";

export interface NodeLaneOptions {
  readonly services: RunServices;
  readonly held: HeldTasks;
  readonly followUps: FollowUps;
  /** Something landed that this worker may take itself. */
  readonly onLanded: (landed: Landed) => void;
  /** Ends were written, or wait. */
  readonly onWritten: () => void;
}

export class NodeLane {
  readonly #options: NodeLaneOptions;
  readonly #lane: EndLane;
  readonly #waker: WorkerWaker;
  /** Claims of transactions whose answer is lost. */
  #unclear: FollowUp[] = [];

  constructor(options: NodeLaneOptions) {
    const { services, held } = options;
    this.#options = options;
    this.#waker = new WorkerWaker(services.database.store, services.log);
    this.#lane = new EndLane({
      services,
      held,
      name: "workflow nodes",
      hasEnds: () => held.hasNodeEnds,
      next: () => held.nextNodeEnds(),
      write: (connection, settles) => this.#write(connection, settles),
      writeAlone: async (connection, end) => (await this.#settle(connection, [end])).reply,
      onWritten: () => {
        this.#clearUp();
        options.onWritten();
      },
    });
  }

  /** Writes what there is, unless that is being done already. */
  flush(): void {
    this.#lane.flush();
  }

  /** Ends the session; what is not written by then stays so. */
  async close(): Promise<void> {
    await this.#waker.flush();
    await this.#lane.close();
  }

  async #write(connection: Connection, settles: readonly EndedTask[]): Promise<void> {
    const { services, held, followUps } = this.#options;
    const followUp = followUps.claimFor(settles.length);
    const written = this.#settle(connection, settles, followUp).catch((error: unknown) => {
      if (followUp !== undefined) this.#unclear.push(followUp);
      throw error;
    });
    const { reply, claimed } = await written;
    held.written(settles);
    announceEnds(services, settles, reply);
    if (claimed !== undefined) followUp?.taken(claimed);
    announceExpired(services, connection, claimed?.expired ?? [], this.#onNotifyError);
    const review = { services, connection, settles, reply, onNotifyError: this.#onNotifyError };
    await watchLink(services.database, connection, () => reviewSettles(review));
  }

  /**
   * The same ends have been written by now, under the lock of the same runs: a transaction that was under way when its
   * link broke is over, and what it has claimed can be found. Looked for earlier, it could be missed.
   */
  #clearUp(): void {
    for (const followUp of this.#unclear.splice(0)) followUp.failed();
  }

  async #settle(
    connection: Connection,
    settles: readonly EndedTask[],
    followUp?: FollowUp,
  ): Promise<{ reply: SettleReply; claimed: ClaimReply | undefined }> {
    const { database } = this.#options.services;
    const { store } = database;
    const ids = settles.map(({ id }) => id);
    const request = followUp?.request;
    // A link that is dead and open leaves a transaction open on the server, and with it the locks of these runs.
    const { moved, news, claimed } = await watchLink(database, connection, () =>
      moveNodes(store, connection, {
        taskIds: ids,
        move: (db) => store.settleTasks(db, settles),
        claim: request,
      }),
    );
    tellWaiters(store, connection, ids, this.#onNotifyError);
    const isAsked = request !== undefined && claimed !== undefined;
    const woken = isAsked ? leftInLine(news.woken, request, claimed) : news.woken;
    this.#tell(connection, settles, { ...news, woken });
    return { reply: moved, claimed };
  }

  #tell(connection: Connection, settles: readonly EndedTask[], news: RunNews): void {
    const { services, onLanded } = this.#options;
    const { own, others } = whatCameBack(settles);
    const landed = landedNodes(news);
    for (const one of [...own, ...landed]) onLanded(one);
    if (others.length + landed.length > 0) this.#waker.announce(connection, [...others, ...landed]);
    const ended = { woken: [], ended: news.ended };
    tellNews(connection, services.database.store, ended).catch(this.#onNotifyError);
  }

  readonly #onNotifyError = (error: unknown): void => {
    this.#options.services.log.debug(
      { error: String(error) },
      "workers or waiters were not told of a workflow; they will find out by polling",
    );
  };
}
