import type { Connection } from "../../src/store/connection.ts";
import { createStore } from "../../src/store/store.ts";

/** A session that listens on one channel and records its notifications. */
export class HeardMessages {
  readonly heard: string[] = [];
  readonly #connection: Connection;
  readonly #channel: string;
  #onHeard: (() => void) | undefined;

  private constructor(connection: Connection, channel: string) {
    this.#connection = connection;
    this.#channel = channel;
    connection.onNotification((from, payload) => {
      if (from === channel) this.heard.push(payload);
      this.#onHeard?.();
    });
  }

  static async listen(connection: Connection, channel: string): Promise<HeardMessages> {
    const listener = new HeardMessages(connection, channel);
    await connection.listen(channel);
    return listener;
  }

  /**
   * All that was committed before this call. Notifications arrive in the order of their commits, so one of our own
   * behind them says that nothing is still on its way.
   */
  async everything(): Promise<string[]> {
    const end = `end ${performance.now()}`;
    const arrived = new Promise<void>((resolve) => {
      this.#onHeard = () => (this.heard.includes(end) ? resolve() : undefined);
    });
    await createStore("posthaste").notifyQueues.alone(
      this.#connection,
      new Map([[this.#channel, end]]),
    );
    await arrived;
    return this.heard.splice(0).filter((payload) => payload !== end);
  }
}
