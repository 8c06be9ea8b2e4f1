/**
 * Writes ends of tasks on a session of its own, while the loop's round trips go on: batch after batch, each with all that has
 * ended meanwhile. What happens to be refused, or waits for somebody, keeps nobody waiting but other ends of the lane.
 */
import { isRepeatable } from "../engine/repeat-safely.ts";
import { Backoff } from "../runtime/backoff.ts";
import { nextTurn, pause } from "../runtime/pause.ts";
import type { Connection } from "../store/connection.ts";
import { Link } from "../store/link.ts";
import type { SettleReply } from "../store/queries/settle-tasks.ts";
import type { EndedTask, HeldTasks } from "./held-tasks.ts";
import type { RunServices } from "./run-services.ts";
import { settleOneByOne } from "./settle-one-by-one.ts";

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
  /** Ends were written, or given up on. */
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
      const ends = this.#options.next();
      let connection: Connection | undefined;
      try {
        connection = await this.#link.connection();
        await this.#options.write(connection, ends);
        backoff.reset();
        onWritten();
      } catch (error) {
        // Who cannot get a session knows nothing about the ends.
        if (connection !== undefined && (await this.#writeOneByOne(error, ends))) continue;
        services.log.debug({ error: String(error), lane: name }, "ends are written again");
        await pause(backoff.next());
      }
    }
  }

  /** One of them may be what PostgreSQL refuses; a lost session or a deadlock is nobody's fault. */
  async #writeOneByOne(error: unknown, settles: readonly EndedTask[]): Promise<boolean> {
    if (isRepeatable(error)) return false;
    const { services, held, writeAlone, onWritten } = this.#options;
    const write = async (end: EndedTask): Promise<SettleReply> =>
      writeAlone(await this.#link.connection(), end);
    const isAnyDone = await settleOneByOne({ services, settles, held, write });
    if (isAnyDone) onWritten();
    return isAnyDone;
  }
}
