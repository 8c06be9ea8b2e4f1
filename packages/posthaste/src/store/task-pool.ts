/**
 * Connections for user code (`ctx.transaction`), apart from the engine's own: a hundred handlers that hold one each keep
 * no result from being written. Their sessions are as the role's defaults make them, because the statements are the
 * user's.
 */
import pg from "pg";
import { maskSecrets } from "../domain/connection-url.ts";
import { explainConnectError } from "./pg-errors.ts";

export interface TaskPoolOptions {
  readonly url: string;
  readonly size: number;
}

/** How a transaction ended that was handed to user code. */
export type PooledClient = pg.PoolClient;

const CONNECT_TIMEOUT_MS = 30_000;

export class TaskPool {
  readonly #open: () => Promise<TaskPoolOptions>;
  #pool: Promise<{ pool: pg.Pool; shown: string }> | undefined;

  constructor(open: () => Promise<TaskPoolOptions>) {
    this.#open = open;
  }

  /** Runs `use` inside a transaction, which is committed when it resolves and rolled back when it rejects. */
  async inTransaction<Answer>(
    use: (client: PooledClient) => Promise<Answer>,
    onCommitLost: (error: unknown) => Promise<boolean>,
  ): Promise<Answer> {
    const client = await this.#connect();
    let isBroken = true;
    try {
      await client.query("begin isolation level read committed read write");
      const answer = await use(client);
      try {
        await client.query("commit");
      } catch (error) {
        // The server may have committed all the same.
        if (!(await onCommitLost(error))) throw error;
        return answer;
      }
      isBroken = false;
      return answer;
    } catch (error) {
      isBroken = await client.query("rollback").then(
        () => false,
        () => true, // the session is gone: so is its transaction
      );
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  async close(): Promise<void> {
    const opened = await this.#pool?.catch(() => undefined); // it was never opened: nothing to close
    this.#pool = undefined;
    await opened?.pool.end();
  }

  async #connect(): Promise<PooledClient> {
    this.#pool ??= this.#make();
    const { pool, shown } = await this.#pool;
    try {
      return await pool.connect();
    } catch (error) {
      throw explainConnectError(error, shown);
    }
  }

  async #make(): Promise<{ pool: pg.Pool; shown: string }> {
    const { url, size } = await this.#open();
    const pool = new pg.Pool({
      connectionString: url,
      max: size,
      application_name: "posthaste tasks",
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    });
    // An idle connection that is lost is replaced when one is needed; without a listener it would end the process.
    pool.on("error", () => undefined);
    return { pool, shown: maskSecrets(url) };
  }
}
