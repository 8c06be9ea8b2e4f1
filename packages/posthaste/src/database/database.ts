/**
 * The database of an app: its statements, and a session for each kind of work, opened when first needed.
 * Sends, keyed sends, bulk sends and reads have a session each, so that none waits behind another's commit.
 */
import type { DatabaseConfig } from "../config/config.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import { OneAtATime } from "../runtime/one-at-a-time.ts";
import { pause } from "../runtime/pause.ts";
import type { Connection } from "../store/connection.ts";
import { Link } from "../store/link.ts";
import { checkSchema, migrate, verifySchema, type FunctionsDrift } from "../store/migrate.ts";
import { openSession } from "../store/open-session.ts";
import { explainPermissionError, isConnectionError } from "../store/pg-errors.ts";
import type { DatabaseIdentity } from "../store/queries/send/identify-database.ts";
import type { Profile } from "../store/session-settings.ts";
import { createStore, type Store } from "../store/store.ts";
import { TaskPool } from "../store/task-pool.ts";
import { version } from "../version.ts";

export interface DatabaseOptions {
  /** Finds the database, starting it if need be. Called once. */
  readonly locate: () => Promise<DatabaseConfig>;
  readonly schema: string;
  readonly autoMigrate: boolean;
  readonly log: Logger;
}

/** For this long a second shutdown need not detect the silence again. */
const SILENCE_HOLDS_MS = 5_000;

export class Database {
  readonly store: Store;
  readonly sends: Link;
  /** Sends that may wait for an uncommitted key. */
  readonly keyedSends: Link;
  readonly bulkSends: Link;
  /** Sends of running tasks, which wait for a claim that is being ended. */
  readonly childSends: Link;
  readonly reads: Link;
  /** Whatever waits for the lock of a run. */
  readonly workflows: Link;
  /** Connections for user code. */
  readonly taskPool: TaskPool;
  readonly #options: DatabaseOptions;
  #autoMigrate: boolean;
  readonly #migrations = new OneAtATime();
  #location: Promise<DatabaseConfig> | undefined;
  #schemaReady: Promise<void> | undefined;
  #identity: Promise<DatabaseIdentity | undefined> | undefined;
  #hasWarned = false;
  #drift: FunctionsDrift | undefined;
  #isClosed = false;
  /** Every session there is, and every attempt to open one. */
  readonly #sessions = new Set<Connection>();
  #silentAt = -Infinity;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#autoMigrate = options.autoMigrate;
    this.store = createStore(options.schema);
    this.sends = new Link(() => this.open("sends", "sends"));
    this.keyedSends = new Link(() => this.open("sends", "keyed sends"));
    this.bulkSends = new Link(() => this.open("sends", "bulk sends"));
    this.childSends = new Link(() => this.open("sends", "sends of tasks"));
    this.reads = new Link(() => this.open("reads", "reads"));
    this.workflows = new Link(() => this.open("moves", "workflows"));
    this.taskPool = new TaskPool(async () => {
      const { url, poolSize } = await this.locate();
      return { url, size: poolSize };
    });
  }

  /** Where the database is. A failed search is not remembered. */
  locate(): Promise<DatabaseConfig> {
    this.#location ??= this.#options.locate().catch((error: unknown) => {
      this.#location = undefined;
      throw error;
    });
    return this.#location;
  }

  async open(profile: Profile, purpose: string): Promise<Connection> {
    this.#refuseIfClosed();
    return this.#open(profile, purpose);
  }

  async #open(profile: Profile, purpose: string): Promise<Connection> {
    const { url, preparedStatements } = await this.locate();
    return openSession({
      url,
      profile,
      preparedStatements,
      applicationName: `posthaste ${purpose}`,
      sessions: this.#sessions,
    });
  }

  /** A session for LISTEN, which a transaction pooler cannot give. */
  async openSession(): Promise<Connection> {
    this.#refuseIfClosed();
    const { sessionUrl, preparedStatements } = await this.locate();
    return openSession({
      url: sessionUrl,
      profile: "reads",
      preparedStatements,
      applicationName: "posthaste listener",
      sessions: this.#sessions,
    });
  }

  /** For a question that must not wait behind anything. */
  async withFreshSession<Answer>(ask: (session: Connection) => Promise<Answer>): Promise<Answer> {
    const session = await this.open("reads", "questions");
    try {
      return await ask(session);
    } finally {
      await session.close();
    }
  }

  /** Rejects if the database does not answer. */
  async ping(): Promise<void> {
    await this.store.ping(this.reads);
  }

  /** Whether neither a new session nor the session for reads gets an answer or a refusal within `ms`. */
  async isSilent(withinMs: number, signal: AbortSignal): Promise<boolean> {
    const heard = new AbortController();
    const hear = (): void => heard.abort();
    const ask = async (): Promise<void> => {
      const session = await this.#open("reads", "questions");
      await this.store.ping(session).finally(() => void session.close());
    };
    ask().then(hear, hear);
    this.ping().then(hear, () => undefined); // it may be closed, and the other has the same to say
    await pause(withinMs, AbortSignal.any([heard.signal, signal]));
    if (heard.signal.aborted || signal.aborted) return false;
    this.#silentAt = performance.now();
    return true;
  }

  /** Found a moment ago. */
  get wasSilent(): boolean {
    return performance.now() - this.#silentAt < SILENCE_HOLDS_MS;
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** Destroys every session: calls under way reject. The next call opens another. */
  dropSessions(): void {
    for (const session of this.#sessions) session.destroy();
  }

  /** Closes without waiting for the server, which does not answer. */
  abandon(): void {
    this.#isClosed = true;
    this.taskPool.abandon();
    this.dropSessions();
  }

  /**
   * Which database this is; undefined where the server does not say. Asked once, or again: a restore into a new database and
   * an upgrade change it.
   */
  identity({ again = false } = {}): Promise<DatabaseIdentity | undefined> {
    if (again) this.#identity = undefined;
    this.#identity ??= this.store.identifyDatabase(this.reads).catch((error: unknown) => {
      this.#identity = undefined;
      if (isConnectionError(error) || error instanceof PosthasteError) throw error;
      return undefined;
    });
    return this.#identity;
  }

  /** An empty notification, through the session for reads. */
  async notify(channel: string): Promise<void> {
    await this.store.notifyQueues.alone(this.reads, new Map([[channel, ""]]));
  }

  /** From now on `ensureSchema` migrates nothing, whatever `autoMigrate` says. */
  verifySchemaOnly(): void {
    this.#autoMigrate = false;
  }

  /** Applies missing migrations, or with `autoMigrate: false` only verifies. Done once; a failure is tried again. */
  ensureSchema(): Promise<void> {
    this.#schemaReady ??= this.#prepareSchema().catch((error: unknown) => {
      this.#schemaReady = undefined;
      throw explainPermissionError(error);
    });
    return this.#schemaReady;
  }

  /** Applies missing migrations, whatever `autoMigrate` says. Returns their names. */
  migrate(): Promise<string[]> {
    return this.#migrations.run(() => this.#migrate());
  }

  async #migrate(): Promise<string[]> {
    const applied = await this.#applyMissing();
    if (applied.length > 0) {
      this.#options.log.info({ schema: this.#options.schema, applied }, "schema migrated");
    }
    return applied;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#schemaReady = undefined; // later calls get the error that the app is closed
    const links = [this.sends, this.keyedSends, this.bulkSends, this.childSends];
    const all = [...links, this.workflows, this.reads];
    await Promise.all([...all.map((link) => link.close()), this.taskPool.close()]);
  }

  #refuseIfClosed(): void {
    if (this.#isClosed) throw new PosthasteError("CLOSED", "this app has been closed");
  }

  async #applyMissing(): Promise<string[]> {
    const connection = await this.open("migrations", "migrations");
    try {
      const applied = await migrate(connection, this.#options.schema);
      this.#warnOfDrift((await checkSchema(connection, this.#options.schema)).drifted);
      return applied;
    } finally {
      await connection.close();
    }
  }

  async #prepareSchema(): Promise<void> {
    const { schema } = this.#options;
    // Looked at first on a session that is needed anyway: nearly always there is nothing to migrate.
    const reads = await this.reads.connection();
    const check = this.#autoMigrate ? checkSchema : verifySchema;
    const { missing, newer, drifted } = await check(reads, schema);
    if (newer.length > 0) this.#warnOfNewer(newer);
    this.#warnOfDrift(drifted);
    if (missing.length > 0) await this.migrate();
  }

  /** The stored functions, where they have our version and another text; known once the schema has been looked at. */
  get functionsDrift(): FunctionsDrift | undefined {
    return this.#drift;
  }

  #warnOfDrift(drift: FunctionsDrift | undefined): void {
    if (drift === undefined || this.#drift !== undefined) return;
    this.#drift = drift;
    const { version: functionsVersion, ownHash, storedHash } = drift;
    this.#options.log.warn(
      { schema: this.#options.schema, version: functionsVersion, ownHash, storedHash },
      "stored functions differ from those of this version; leaving them unchanged",
    );
  }

  #warnOfNewer(newer: readonly string[]): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#options.log.warn(
      { schema: this.#options.schema, migrations: newer, version },
      "schema is newer than this version of posthaste; the version still works, but update it",
    );
  }
}
