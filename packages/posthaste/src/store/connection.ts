/**
 * One session with PostgreSQL. `pg` opens it: hosts, TLS, passwords. From then on wire-session.ts speaks on its socket. The only
 * file, besides task-pool.ts and those in wire/, that knows the driver.
 */
import type { Duplex } from "node:stream";
import pg from "pg";
import { hostUrls, maskSecrets } from "../domain/connection-url.ts";
import { explainConnectError, isConnectionError } from "./pg-errors.ts";
import { applySettings, type Profile } from "./session-settings.ts";
import { firstThatWrites, HOST_TIMEOUT_MS, requireWritable } from "./several-hosts.ts";
import type { OwnDb, SqlText, Statement } from "./sql.ts";
import { WireSession } from "./wire/wire-session.ts";

export interface ConnectionOptions {
  readonly url: string;
  readonly applicationName: string;
  readonly profile: Profile;
  /** Undefined: where the session is ours alone. A pooler gives each transaction another, which knows none of them. */
  readonly preparedStatements: boolean | undefined;
  /** Where it is listed from its first attempt to its end. */
  readonly sessions?: Set<Connection>;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** Beyond the server's own statement_timeout: no answer then means that the link is dead, whatever TCP believes. */
const ANSWER_TIMEOUT_MS = 40_000;
const MIGRATION_TIMEOUT_MS = 60 * 60 * 1_000;

export class Connection implements OwnDb {
  /** Resolves once, when the session is over, with the reason. Never rejects. */
  readonly lost: Promise<Error>;
  readonly #client: pg.Client;
  /** Undefined until the driver has opened the session. */
  #wire: WireSession | undefined;
  /** Until it is known whether a pooler stands between, nothing is prepared. */
  #prepares = false;
  #backendPid: number | null = null;
  #open = true;

  private constructor(client: pg.Client) {
    this.#client = client;
    this.lost = new Promise((resolve) => {
      const over = (error: Error): void => {
        this.#open = false;
        this.#wire?.lose(error);
        resolve(error);
      };
      // The driver may emit 'error' twice and then 'end'; without a listener the first would end the process.
      client.on("error", over);
      client.on("end", () => over(new Error("Connection terminated")));
    });
  }

  /** Connects to the first host of the URL that can be reached and accepts writes. */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const urls = hostUrls(options.url);
    if (urls.length === 1) return Connection.#openOne(options);
    return firstThatWrites(urls, (url) =>
      Connection.#openOne({ ...options, url }, HOST_TIMEOUT_MS),
    );
  }

  static async #openOne(options: ConnectionOptions, hostTimeoutMs?: number): Promise<Connection> {
    const shown = maskSecrets(options.url);
    const client = makeClient(options, shown, hostTimeoutMs);
    const connection = new Connection(client);
    const unlist = (): unknown => options.sessions?.delete(connection);
    options.sessions?.add(connection);
    void connection.lost.then(unlist);
    try {
      await client.connect();
      if (hostTimeoutMs !== undefined) await requireWritable(client);
      connection.#takeOver(options.profile);
      const isOurs = await applySettings(connection, options.profile, connection.#greetedBy());
      connection.#prepares = options.preparedStatements ?? isOurs;
      if (isOurs) connection.#backendPid = connection.#greetedBy();
    } catch (error) {
      connection.destroy();
      unlist();
      throw explainConnectError(error, shown);
    }
    return connection;
  }

  /** The server's process behind this session; null behind a pooler, which may give it another any time. */
  get backendPid(): number | null {
    return this.#backendPid;
  }

  get isOurs(): boolean {
    return this.#backendPid !== null;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  async query<Row extends object>(
    statement: Statement,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    try {
      return await this.#session().query<Row>(statement, values, this.#prepares);
    } catch (error) {
      throw this.#noted(error);
    }
  }

  async copy(text: SqlText, rows: readonly string[]): Promise<void> {
    try {
      await this.#session().script(text, rows);
    } catch (error) {
      throw this.#noted(error);
    }
  }

  /** Several statements at once, without values or rows. */
  async script(text: SqlText): Promise<void> {
    await this.#session().script(text);
  }

  /** The channel's name is one of ours (see channels.ts): a hash, which needs no quoting and gets it anyway. */
  async listen(channel: string): Promise<void> {
    if (!/^ph_[0-9a-f]{32}$/.test(channel)) throw new TypeError("not a channel of ours");
    await this.script(`listen "${channel}"` as SqlText);
  }

  onNotification(listener: (channel: string, payload: string) => void): void {
    this.#session().onNotification(listener);
  }

  /** Says goodbye when everything under way has been answered. */
  async close(): Promise<void> {
    await this.#wire?.idle();
    if (!this.#open) return;
    await this.#client.end().catch(() => this.destroy()); // already gone: nothing to say goodbye to
  }

  /** Statements sent inside leave in one socket write. */
  together<Answer>(send: () => Answer): Answer {
    return this.#session().together(send);
  }

  /** Destroys the connection at once; statements under way reject. */
  destroy(): void {
    this.#open = false;
    this.#stream()?.destroy();
  }

  /** After a failover an open connection may lead to a read-only server: it must not be used again. */
  #noted(error: unknown): unknown {
    if (isConnectionError(error)) this.destroy();
    return error;
  }

  /** The process id that the server named in its greeting. Not in the driver's types. */
  #greetedBy(): number | null {
    return (this.#client as unknown as { processID?: number }).processID ?? null;
  }

  /** Typed as private by the driver. */
  #stream(): Duplex | undefined {
    const { connection } = this.#client as unknown as { connection?: { stream?: Duplex } };
    return connection?.stream;
  }

  /** The driver reads the socket no more. It still reports errors of the socket and its end. */
  #takeOver(profile: Profile): void {
    const stream = this.#stream();
    if (stream === undefined) throw new TypeError("the driver has no socket");
    stream.removeAllListeners("data");
    this.#wire = new WireSession({
      stream,
      parserOf: (oid) => parsers.get(oid) ?? asText,
      answerTimeoutMs: profile === "migrations" ? MIGRATION_TIMEOUT_MS : ANSWER_TIMEOUT_MS,
    });
  }

  #session(): WireSession {
    if (this.#wire === undefined) throw new TypeError("the session is not open yet");
    return this.#wire;
  }
}

function makeClient(
  options: ConnectionOptions,
  shown: string,
  timeoutMs = CONNECT_TIMEOUT_MS,
): pg.Client {
  try {
    return new pg.Client({
      connectionString: options.url,
      application_name: options.applicationName,
      connectionTimeoutMillis: timeoutMs,
      keepAlive: true,
    });
  } catch {
    // The parser's own error carries the whole string, password included.
    throw explainConnectError(new Error("the URL cannot be read"), shown);
  }
}

/** Our own parsers, because users change the driver's global ones. Unlisted types stay text. */
const parsers = new Map<number, (text: string) => unknown>([
  [16, (text) => text === "t"],
  [20, Number],
  [21, Number],
  [23, Number],
  [701, Number],
  [1184, parseInstant],
]);

const asText = (text: string): string => text;

/**
 * `2026-11-15 20:12:45.123456+00`; microseconds are cut. Behind a pooler the session's time zone is not ours, and the text
 * ends with another offset.
 */
function parseInstant(text: string): Date {
  if (text.endsWith("+00")) return new Date(`${text.slice(0, -3).replace(" ", "T")}Z`);
  const [, day, time, hours, minutes = "00"] =
    /^(\S+) ([\d:.]+)([+-]\d\d):?(\d\d)?/.exec(text) ?? [];
  return new Date(`${day}T${time}${hours}:${minutes}`);
}
