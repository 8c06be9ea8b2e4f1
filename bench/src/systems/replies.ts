/**
 * Tells a caller in another process that its job is done, for systems that keep no result or cannot be waited for: by NOTIFY, as
 * their users would. The caller learns it when the handler has returned, before the system has stored that.
 */
import pg from "pg";

const CHANNEL = "bench_replies";

export async function tellCallers(pool: pg.Pool, numbers: readonly number[]): Promise<void> {
  await pool.query("select pg_notify($1, $2)", [CHANNEL, numbers.join(",")]);
}

export class Replies {
  readonly #waiting = new Map<number, () => void>();
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
    client.on("notification", ({ payload = "" }) => {
      for (const n of payload.split(",")) this.#waiting.get(Number(n))?.();
    });
  }

  static async listen(url: string): Promise<Replies> {
    const client = new pg.Client(url);
    await client.connect();
    await client.query(`listen ${CHANNEL}`);
    return new Replies(client);
  }

  /** To be called before the job is sent. */
  async to(n: number): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.set(n, resolve));
    this.#waiting.delete(n);
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}
