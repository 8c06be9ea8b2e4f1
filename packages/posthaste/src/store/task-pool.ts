/**
 * Connections for user code (`ctx.transaction`), apart from the engine's own: a hundred handlers that hold one each keep
 * no result from being written. Their sessions are as the role's defaults make them, because the statements are the
 * user's.
 */
import { AsyncResource } from "node:async_hooks";
import type { Duplex } from "node:stream";
import pg from "pg";
import { hostUrls, maskSecrets } from "../domain/connection-url.ts";
import { PosthasteError } from "../domain/errors.ts";
import { explainConnectError, isConnectionError } from "./pg-errors.ts";
import { TRANSACTION_MARK } from "./queries/settle/complete-with-effects.ts";
import { firstThatWrites, HOST_TIMEOUT_MS, requireWritable } from "./several-hosts.ts";

export interface TaskPoolOptions {
  readonly url: string;
  readonly size: number;
}

export type PooledClient = pg.PoolClient;

const CONNECT_TIMEOUT_MS = 30_000;

export class TaskPool {
  readonly #open: () => Promise<TaskPoolOptions>;
  // A socket belongs to no task: the one that happens to open it, which a release may do as well, would be blamed for
  // whatever the socket's next users meet.
  readonly #take = AsyncResource.bind((pool: pg.Pool): Promise<PooledClient> => pool.connect());
  readonly #release = AsyncResource.bind((client: PooledClient, isBroken: boolean): void =>
    client.release(isBroken),
  );
  readonly #clients = new Set<PooledClient>();
  #pools: Promise<Map<string, pg.Pool>> | undefined;
  #lastUrl: string | undefined;

  constructor(open: () => Promise<TaskPoolOptions>) {
    this.#open = open;
  }

  /**
   * Runs `use` inside a transaction, which it gets with its mark and which is committed when it resolves and rolled back when it
   * rejects. Where the connection is lost, its statements reject, and this with DATABASE_UNAVAILABLE.
   */
  async inTransaction<Answer>(
    use: (client: PooledClient, mark: string) => Promise<Answer>,
    onCommitLost: (error: unknown) => Promise<boolean>,
  ): Promise<Answer> {
    const client = await this.#connect();
    let isBroken = true;
    try {
      const answer = await use(client, await begin(client));
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
      throw isBroken && isConnectionError(error) ? connectionLost(error) : error;
    } finally {
      this.#release(client, isBroken);
    }
  }

  /** Destroys every connection: calls that wait for one reject. */
  abandon(): void {
    this.#pools = undefined;
    for (const client of this.#clients) streamOf(client)?.destroy();
  }

  async close(): Promise<void> {
    const opened = await this.#pools?.catch(() => undefined); // it was never opened: nothing to close
    this.#pools = undefined;
    await Promise.all([...(opened?.values() ?? [])].map((pool) => pool.end()));
  }

  async #connect(): Promise<PooledClient> {
    this.#pools ??= this.#make();
    const pools = await this.#pools;
    const connect = async (url: string): Promise<PooledClient> => {
      try {
        const pool = pools.get(url);
        if (pool === undefined) throw new Error("this pool is closed");
        return await this.#take(pool);
      } catch (error) {
        throw explainConnectError(error, maskSecrets(url));
      }
    };
    const [url = "", ...others] = pools.keys();
    if (others.length === 0) return connect(url);
    // The host that answered last goes first: each checkout would wait for a dead one otherwise.
    const inOrder = [...new Set([this.#lastUrl ?? url, url, ...others])];
    return firstThatWrites(inOrder, async (each) => {
      const client = await connect(each);
      this.#lastUrl = each;
      return client;
    });
  }

  /** A pool for each host of the URL. */
  async #make(): Promise<Map<string, pg.Pool>> {
    const { url, size } = await this.#open();
    const urls = hostUrls(url);
    return new Map(urls.map((each) => [each, this.#makePool(each, size, urls.length > 1)]));
  }

  #makePool(url: string, size: number, isOneOfSeveral: boolean): pg.Pool {
    const pool = new pg.Pool({
      connectionString: url,
      max: size,
      application_name: "posthaste tasks",
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS, // it counts for the wait for a free connection, too
      keepAlive: true,
      ...(isOneOfSeveral && { verify, Client: OneOfSeveral }),
    });
    // An idle connection that is lost is replaced when one is needed. One that is in use rejects the next statement of the
    // task that uses it. Without a listener each would be an uncaught exception, for as long as the pool does not listen.
    pool.on("error", () => undefined);
    pool.on("connect", (client) => {
      this.#clients.add(client);
      client.on("error", () => undefined);
    });
    pool.on("remove", (client) => this.#clients.delete(client));
    return pool;
  }
}

class OneOfSeveral extends pg.Client {
  constructor(config: pg.ClientConfig = {}) {
    super({ ...config, connectionTimeoutMillis: HOST_TIMEOUT_MS });
  }
}

/** Asked of each new connection, once. */
function verify(client: pg.PoolClient, answer: (error?: Error) => void): void {
  requireWritable(client).then(
    () => answer(),
    (error: unknown) => answer(error instanceof Error ? error : new Error(String(error))),
  );
}

/** Typed as private by the driver. */
function streamOf(client: PooledClient): Duplex | undefined {
  return (client as unknown as { connection?: { stream?: Duplex } }).connection?.stream;
}

function connectionLost(error: unknown): PosthasteError {
  const reason = error instanceof Error ? error.message : String(error);
  return new PosthasteError(
    "DATABASE_UNAVAILABLE",
    `the transaction lost its connection and was rolled back; it may be tried again: ${reason}`,
    { cause: error },
  );
}

/** Returns the transaction's mark. Two statements in one message, which the driver answers with two results. */
async function begin(client: PooledClient): Promise<string> {
  const answers = await client.query<{ mark: string }>(
    `begin isolation level read committed read write; select ${TRANSACTION_MARK} as mark`,
  );
  const [, marked] = answers as unknown as pg.QueryResult<{ mark: string }>[];
  return marked?.rows[0]?.mark ?? "";
}
