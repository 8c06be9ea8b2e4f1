/**
 * Writes ends of tasks on a session of its own, while the loop's round trips go on: batch after batch, each with all that has
 * ended meanwhile. What happens to be refused, or waits for somebody, keeps nobody waiting but other ends of the lane.
 */
import { Backoff } from "../runtime/backoff.ts";
import { nextTurn, pause } from "../runtime/pause.ts";
import type { Connection } from "../store/connection.ts";
import { Link } from "../store/link.ts";
import type { SettleReply } from "../store/queries/settle-tasks.ts";
import type { EndedTask, HeldTasks } from "./held-tasks.ts";
import type { RunServices } from "./run-services.ts";
import { isRefusal, settleOneByOne } from "./settle-one-by-one.ts";

export interface EndLaneOptions {
  readonly services: RunServices;
  readonly held: HeldTasks;
  /** What its session is called. */
  readonly name: string;
  readonly hasEnds: () => boolean;
  /** What is to be written next; it stays until `held.written`. */
  readonly next: () => readonly EndedTask[];
  /** Writes them and tells whoever is to know. */
  readonly write: (connection: Connection, settles: readonly EndedTask[]) => Promise<void>;
  readonly writeAlone: (connection: Connection, end: EndedTask) => Promise<SettleReply>;
  /** Ends were written, or wait. */
  readonly onWritten: () => void;
}

export class EndLane {
  readonly #options: EndLaneOptions;
  readonly #link: Link;
  #isBusy = false;
  #isClosed = false;

  constructor(options: EndLaneOptions) {
    const { services, name } = options;
    this.#options = options;
    this.#link = new Link(() => services.database.open("moves", name));
  }

  /** Writes what there is, unless that is being done already. */
  flush(): void {
    if (this.#isBusy || this.#isClosed || !this.#options.hasEnds()) return;
    this.#isBusy = true;
    void this.#run().finally(() => {
      this.#isBusy = false;
      this.#options.onWritten();
    });
  }

  /** Ends the session; what is not written by then stays so. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#link.close();
  }

  async #run(): Promise<void> {
    const { hasEnds, onWritten, services, name } = this.#options;
    const backoff = new Backoff({ initialMs: 20, maxMs: 1_000 });
    await nextTurn(); // bodies that end in the same turn are written together
    while (!this.#isClosed && hasEnds()) {
      try {
        await this.#write(this.#options.next());
        backoff.reset();
        onWritten();
      } catch (error) {
        services.log.debug({ error: String(error), lane: name }, "ends are written again");
        await pause(backoff.next());
      }
    }
  }

  /** Rejects when the session is lost or cannot be had: that says nothing about the ends. */
  async #write(settles: readonly EndedTask[]): Promise<void> {
    const { services, held, write, writeAlone } = this.#options;
    try {
      await write(await this.#link.connection(), settles);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await settleOneByOne({ services, settles, held, link: this.#link, write: writeAlone });
    }
  }
}
