/**
 * Where a worker writes the ends of tasks that are nodes of runs: on a session of its own, in transactions of their own. A
 * run that somebody holds locked, or a deadlock, keeps nobody waiting but other nodes.
 */
import { landedNodes, moveNodes, tellNews } from "../engine/move-nodes.ts";
import { isRepeatable } from "../engine/repeat-safely.ts";
import { WorkerWaker, type Landed } from "../engine/wake-workers.ts";
import { tellWaiters } from "../engine/work-cycle.ts";
import { Backoff } from "../runtime/backoff.ts";
import { nextTurn, pause } from "../runtime/pause.ts";
import { Link } from "../store/link.ts";
import type { RunNews } from "../store/queries/advance-workflows.ts";
import type { ClaimReply } from "../store/queries/claim-tasks.ts";
import type { SettleReply } from "../store/queries/settle-tasks.ts";
import { announceEnds, announceExpired } from "./announce-runs.ts";
import { leftInLine, type FollowUp, type FollowUps } from "./follow-ups.ts";
import { whatCameBack, type EndedTask, type HeldTasks } from "./held-tasks.ts";
import { reviewSettles } from "./review-settles.ts";
import type { RunServices } from "./run-services.ts";
import { settleOneByOne } from "./settle-one-by-one.ts";
import { watchLink } from "./watch-link.ts";

export interface NodeLaneOptions {
  readonly services: RunServices;
  readonly held: HeldTasks;
  readonly followUps: FollowUps;
  /** Something landed that this worker may take itself. */
  readonly onLanded: (landed: Landed) => void;
  /** Ends were written, or given up on. */
  readonly onWritten: () => void;
}

export class NodeLane {
  readonly #options: NodeLaneOptions;
  readonly #link: Link;
  readonly #waker: WorkerWaker;
  /** Claims of transactions whose answer is lost. */
  #unclear: FollowUp[] = [];
  #isBusy = false;
  #isClosed = false;

  constructor(options: NodeLaneOptions) {
    const { database, log } = options.services;
    this.#options = options;
    this.#link = new Link(() => database.open("moves", "workflow nodes"));
    this.#waker = new WorkerWaker(database.store, log);
  }

  /** Writes what there is, unless that is being done already. */
  flush(): void {
    if (this.#isBusy || this.#isClosed || !this.#options.held.hasNodeEnds) return;
    this.#isBusy = true;
    void this.#run().finally(() => {
      this.#isBusy = false;
      this.#options.onWritten();
    });
  }

  /** Ends the session; what is not written by then stays so. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#waker.flush();
    await this.#link.close();
  }

  async #run(): Promise<void> {
    const { held, services } = this.#options;
    const backoff = new Backoff({ initialMs: 20, maxMs: 1_000 });
    await nextTurn(); // bodies that end in the same turn are written together
    while (!this.#isClosed && held.hasNodeEnds) {
      const settles = held.nextNodeEnds();
      try {
        await this.#write(settles);
        backoff.reset();
        this.#clearUp();
        this.#options.onWritten();
      } catch (error) {
        // One of them may be what PostgreSQL refuses; a lost session or a deadlock is nobody's fault.
        const isAnyDone =
          !isRepeatable(error) &&
          (await settleOneByOne({
            services,
            settles,
            held,
            write: (end) => this.#settleAlone(end),
          }));
        if (isAnyDone) {
          this.#clearUp();
          continue;
        }
        services.log.debug({ error: String(error) }, "ends of workflow nodes are written again");
        await pause(backoff.next());
      }
    }
  }

  async #write(settles: readonly EndedTask[]): Promise<void> {
    const { services, held, followUps } = this.#options;
    const followUp = followUps.claimFor(settles.length);
    const { reply, claimed } = await this.#settle(settles, followUp).catch((error: unknown) => {
      if (followUp !== undefined) this.#unclear.push(followUp);
      throw error;
    });
    held.written(settles);
    announceEnds(services, settles, reply);
    if (claimed !== undefined) followUp?.taken(claimed);
    const connection = await this.#link.connection();
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

  async #settleAlone(end: EndedTask): Promise<SettleReply> {
    return (await this.#settle([end], undefined)).reply;
  }

  async #settle(
    settles: readonly EndedTask[],
    followUp: FollowUp | undefined,
  ): Promise<{ reply: SettleReply; claimed: ClaimReply | undefined }> {
    const { database } = this.#options.services;
    const { store } = database;
    const connection = await this.#link.connection();
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
    this.#tell(settles, { ...news, woken });
    return { reply: moved, claimed };
  }

  #tell(settles: readonly EndedTask[], news: RunNews): void {
    const { services, onLanded } = this.#options;
    const { store } = services.database;
    const { own, others } = whatCameBack(settles);
    const landed = landedNodes(news);
    for (const one of [...own, ...landed]) onLanded(one);
    this.#link
      .connection()
      .then((connection) => {
        if (others.length + landed.length > 0)
          this.#waker.announce(connection, [...others, ...landed]);
        return tellNews(connection, store, { woken: [], ended: news.ended });
      })
      .catch(this.#onNotifyError);
  }

  readonly #onNotifyError = (error: unknown): void => {
    this.#options.services.log.debug(
      { error: String(error) },
      "workers or waiters were not told of a workflow; they will find out by polling",
    );
  };
}
