/** The kit for users' tests: a database of its own, an app on it, and ways to run tasks and to pass time. */
import { appFacts } from "../app/app-facts.ts";
import { posthaste, type Posthaste } from "../app/posthaste.ts";
import { readAppConfig, type AppConfig } from "../app/read-app-config.ts";
import { DEFAULT_QUEUE } from "../config/config.ts";
import { PosthasteError } from "../domain/errors.ts";
import { shown } from "../domain/option-reader.ts";
import { notifyQueuesNow } from "../sending/wake-workers.ts";
import { Connection } from "../store/connection.ts";
import { Link } from "../store/link.ts";
import { isLockTimeout } from "../store/pg-errors.ts";
import { createStore, type Store } from "../store/store.ts";
import { createThrowawayDatabase, type ThrowawayDatabase } from "../store/throwaway-database.ts";
import { inOneTransaction } from "../store/transaction.ts";
import { collectingLogger } from "./collecting-logger.ts";
import { IdleRunner, type IdleOptions, type RanTask } from "./idle-runner.ts";
import { testServerUrl } from "./test-server.ts";

/** Everything `posthaste()` takes, except the database. Log lines are dropped unless a logger is given. */
export interface TestKitOptions extends Omit<AppConfig, "database"> {
  /**
   * A database on the server that is to be used, with a role that may create others; nothing in it is touched. Left out:
   * the environment's DATABASE_URL, else an embedded PostgreSQL that all test files share. `"embedded"` asks for that.
   */
  readonly url?: string;
}

export interface TestKit extends AsyncDisposable {
  /** An app on this kit's database. Its tasks run when `runUntilIdle` is called, or by workers of your own. */
  readonly app: Posthaste;
  /** This kit's database, for tables of your own; password included. */
  readonly url: string;
  /**
   * Runs tasks in this process until no task is due or running, including tasks that tasks send and due retries. Returns the tasks in the
   * order in which they started. Throws WAIT_TIMEOUT with the tasks that are left if it takes too long.
   *
   *     await kit.app.send(chargeCard, { card: "4711" });
   *     const ran = await kit.runUntilIdle();
   */
  runUntilIdle(options?: IdleOptions): Promise<RanTask[]>;
  /**
   * Lets time pass for everything that waits: delays, retries and `goodUntil` are `ms` nearer. Runs nothing.
   *
   *     await kit.advance(60_000);
   *     await kit.runUntilIdle();
   */
  advance(ms: number): Promise<void>;
  /** Closes the app and drops the database. Safe to repeat. */
  close(): Promise<void>;
}

/**
 * A database of its own for a test file, with an app on it. Takes a fraction of a second; the first time in a project seconds,
 * because a PostgreSQL is set up.
 *
 *     await using kit = await testKit({ tasks: [chargeCard] });
 */
export async function testKit({ url: given, ...config }: TestKitOptions = {}): Promise<TestKit> {
  const serverUrl = await testServerUrl(given);
  // An unknown name is a mistake of the test: fail at once instead of waiting.
  const appConfig = { logger: collectingLogger(), unknownTasks: "fail" as const, ...config };
  // Before there is anything to drop.
  const read = readAppConfig({ ...appConfig, database: serverUrl }, process.env);
  const { schema } = read.config;
  const database = await createThrowawayDatabase({ serverUrl, schema });
  const { url } = database;
  const app = posthaste({ ...appConfig, database: url });
  // A thread would load the file that calls posthaste(), which is this one and makes no tasks.
  appFacts(app).runBlockingInline();
  const store = createStore(schema);
  const db = new Link(() => openSession(url));
  const queues = read.config.queues?.keys() ?? [
    DEFAULT_QUEUE,
    ...read.tasks.map(({ queue }) => queue ?? DEFAULT_QUEUE),
  ];
  const runner = new IdleRunner({ app, store, db, queues: [...queues] });
  let closing: Promise<void> | undefined;

  const kit: TestKit = {
    app,
    url,
    runUntilIdle: (options) => runner.run(options),
    advance: async (ms) => advance(await db.connection(), store, requireMs(ms)),
    close: () => (closing ??= closeAll(app, db, database)),
    [Symbol.asyncDispose]: () => kit.close(),
  };
  return kit;
}

async function closeAll(app: Posthaste, db: Link, database: ThrowawayDatabase): Promise<void> {
  try {
    await app.close();
    await db.close();
  } finally {
    await database.drop();
  }
}

function openSession(url: string): Promise<Connection> {
  return Connection.open({
    url,
    profile: "reads",
    applicationName: "posthaste testing",
    preparedStatements: true,
  });
}

async function advance(connection: Connection, store: Store, ms: number): Promise<void> {
  try {
    const lanes = await inOneTransaction(connection, () => store.advanceTasks(connection, ms));
    // For workers that the test itself has started.
    await notifyQueuesNow(
      connection,
      store,
      lanes.map((lane) => ({ ...lane, due: "back" })),
    );
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    throw new PosthasteError(
      "WAIT_TIMEOUT",
      "time was not advanced, because a transaction that has sent a task is still open; commit it or roll it back before advance()",
    );
  }
}

/** A hundred years. */
const LONGEST_MS = 100 * 365 * 24 * 60 * 60 * 1000;

function requireMs(ms: number): number {
  if (Number.isInteger(ms) && ms >= 0 && ms <= LONGEST_MS) return ms;
  throw PosthasteError.of("VALIDATION_FAILED", "time did not pass", [
    {
      path: "ms",
      message: `expected whole milliseconds from 0 to ${LONGEST_MS}, found ${shown(ms)}`,
    },
  ]);
}
