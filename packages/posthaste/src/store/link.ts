/** A session that is opened when it is first needed and opened again after it was lost. */
import { PosthasteError } from "../domain/errors.ts";
import type { Connection } from "./connection.ts";
import type { Db, Statement } from "./sql.ts";

export class Link implements Db {
  readonly #open: () => Promise<Connection>;
  #current: Promise<Connection> | undefined;
  #closed = false;

  constructor(open: () => Promise<Connection>) {
    this.#open = open;
  }

  /** The open session; concurrent callers share one attempt to open it. */
  connection(): Promise<Connection> {
    if (this.#closed)
      return Promise.reject(new PosthasteError("CLOSED", "this app has been closed"));
    if (this.#current !== undefined) return this.#current;
    const opening = this.#open();
    this.#current = opening;
    const forget = (): void => {
      if (this.#current === opening) this.#current = undefined;
    };
    opening.then((connection) => connection.lost.then(forget), forget);
    return opening;
  }

  /** Opens it before its first use. If that fails, the first use rejects. */
  warmUp(): void {
    this.connection().catch(() => undefined);
  }

  async query<Row extends object>(
    statement: Statement,
    values?: readonly unknown[],
  ): Promise<Row[]> {
    const connection = await this.connection();
    return connection.query<Row>(statement, values);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const current = this.#current;
    this.#current = undefined;
    if (current === undefined) return;
    const connection = await current.catch(() => undefined); // it never opened: nothing to close
    await connection?.close();
  }
}
