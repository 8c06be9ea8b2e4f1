/**
 * Writes the ends of tasks on a session of its own, batch after batch, while the claim loop goes on. A worker has two completers: one
 * for plain tasks and one for nodes of runs. An end that is refused, or that waits for a lock, delays only ends of its own kind.
 *
 * In: ends, through an `EndList`. Out: the steps of after-commit.ts.
 */
import { nextTurn } from "../../runtime/pause.ts";
import type { Connection } from "../../store/connection.ts";
import { Link } from "../../store/link.ts";
import { watchConnection } from "../connection-watchdog.ts";
import type { AttemptServices } from "../execution/attempt-services.ts";
import type { EndedTask } from "../execution/ended-task.ts";
import type { Outage } from "../outage.ts";
import type { EndList } from "../slots/end-list.ts";
import type { AfterCommit, CommittedEnds } from "./after-commit.ts";
import { isRefusal, settleOneByOne } from "./settle-one-by-one.ts";

export interface CompleterOptions {
  readonly services: AttemptServices;
  /** The name of its session. */
  readonly name: string;
  readonly outage: Outage;
  readonly ends: EndList<EndedTask>;
  /** Whether other attempts may end in the same turn of the event loop. */
  readonly mayMoreEnd: () => boolean;
  /** Writes ends in one transaction. `isAlone`: the end was refused in a batch and is tried by itself. */
  readonly write: (
    connection: Connection,
    ends: readonly EndedTask[],
    isAlone: boolean,
  ) => Promise<CommittedEnds>;
  readonly afterCommit: AfterCommit;
  /** Ends were sent: their slots are free. */
  readonly onSent: () => void;
  /** A batch was written, or each of its ends was written or put aside: caps may have room. */
  readonly onWritten: () => void;
}

export class Completer {
  readonly #options: CompleterOptions;
  readonly #link: Link;
  #isBusy = false;
  #hadRefused = false;
  #isClosed = false;

  constructor(options: CompleterOptions) {
    const { services, name } = options;
    this.#options = options;
    this.#link = new Link(() => services.database.open("moves", name));
  }

  /** Opens its session before the first end. */
  warmUp(): void {
    this.#link.warmUp();
  }

  /** Writes the ends that are in its list, unless it is writing already. */
  flush(): void {
    const { ends, onWritten } = this.#options;
    if (this.#isBusy || this.#isClosed || !ends.hasNext()) return;
    this.#isBusy = true;
    void this.#run().finally(() => {
      this.#isBusy = false;
      onWritten();
    });
  }

  /** The database was reached: the completer writes now. */
  onReachable(): void {
    this.#options.outage.onReachable();
  }

  /** Closes the session. Ends that are not written by then stay unwritten. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#options.outage.cutShort();
    await this.#link.close();
  }

  async #run(): Promise<void> {
    const { ends, outage, onWritten, mayMoreEnd } = this.#options;
    if (mayMoreEnd()) await nextTurn(); // attempts that end in the same turn are written together
    while (!this.#isClosed && ends.hasNext()) {
      try {
        await this.#write();
        outage.over();
        this.#reportAccepted();
        onWritten();
      } catch (error) {
        ends.takeBack();
        if (!this.#isClosed) await outage.wait(error);
      }
    }
  }

  /** Says once that no refused end is left. */
  #reportAccepted(): void {
    const { ends, services } = this.#options;
    if (this.#hadRefused && ends.refusedCount === 0)
      services.log.info(
        "PostgreSQL accepts task results again; all results kept in memory are stored",
      );
    this.#hadRefused = ends.refusedCount > 0;
  }

  /** Rejects if the session is lost or cannot be opened: that says nothing about the ends. */
  async #write(): Promise<void> {
    const { services, ends, onSent } = this.#options;
    const connection = await this.#link.connection();
    const batch = ends.next(performance.now());
    try {
      await watchConnection(services.database, connection, async () => {
        ends.sent(batch); // first: the transaction may claim tasks for the slots that these leave
        const written = this.#commit(connection, batch, false);
        onSent();
        await written;
      });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      ends.takeBack();
      await settleOneByOne({
        services,
        batch,
        ends,
        connection: () => this.#link.connection(),
        write: (end) => this.#writeAlone(end),
      });
    }
  }

  async #writeAlone(end: EndedTask): Promise<void> {
    const connection = await this.#link.connection();
    await watchConnection(this.#options.services.database, connection, () =>
      this.#commit(connection, [end], true),
    );
  }

  async #commit(
    connection: Connection,
    ends: readonly EndedTask[],
    isAlone: boolean,
  ): Promise<void> {
    const { write, afterCommit } = this.#options;
    await afterCommit.run(connection, ends, await write(connection, ends, isAlone));
  }
}
