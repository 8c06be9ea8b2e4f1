/** A database of its own for a test file, copied from a migrated template, with the laws of broken-laws.ts checked after every test. */
import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import { posthaste, type AppConfig, type Posthaste } from "../../src/index.ts";
import { Connection } from "../../src/store/connection.ts";
import type { Profile } from "../../src/store/session-settings.ts";
import { createStore } from "../../src/store/store.ts";
import {
  createThrowawayDatabase,
  type ThrowawayDatabase,
} from "../../src/store/throwaway-database.ts";
import { brokenLaws } from "./broken-laws.ts";
import { silentLogger } from "./loggers.ts";

export interface TestDatabase {
  readonly url: string;
  readonly store: ReturnType<typeof createStore>;
  /** SQL of the test's own, on a session of its own. */
  sql<Row extends object = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<Row[]>;
  /** A session as the engine opens it. Closed after the test. */
  connect(profile?: Profile): Promise<Connection>;
  /** An app on this database, with a silent logger unless told otherwise. Closed after the test. */
  app(config?: Omit<AppConfig, "database">): Posthaste;
}

export function useDatabase(options: { readonly isEmpty?: boolean } = {}): TestDatabase {
  const serverUrl = inject("serverUrl");
  let database: ThrowawayDatabase | undefined;
  const opened: { close(): Promise<void> }[] = [];
  let client: pg.Client | undefined;

  beforeAll(async () => {
    const schema = options.isEmpty === true ? null : "posthaste";
    database = await createThrowawayDatabase({ serverUrl, schema });
    client = new pg.Client(database.url);
    await client.connect();
  });

  const url = (): string => {
    if (database === undefined) throw new Error(TOO_EARLY);
    return database.url;
  };

  const sql: TestDatabase["sql"] = async <Row extends object>(text: string, values?: unknown[]) => {
    if (client === undefined) throw new Error(TOO_EARLY);
    return (await client.query<Row>(text, values)).rows;
  };

  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    const [exists] = await sql<{ there: boolean }>(
      "select to_regclass('posthaste.submissions') is not null as there",
    );
    if (exists?.there) expect(await brokenLaws(sql)).toEqual([]);
  });

  afterAll(async () => {
    await client?.end();
    await database?.drop();
  });

  return {
    get url() {
      return url();
    },
    sql,
    store: createStore("posthaste"),
    async connect(profile = "moves") {
      const connection = await Connection.open({
        url: url(),
        profile,
        applicationName: "test",
        preparedStatements: true,
      });
      opened.push(connection);
      return connection;
    },
    app(config) {
      const usual = { logger: silentLogger, directStart: isDirectStartOn() };
      const app = posthaste({ ...usual, ...config, database: url() });
      opened.push(app);
      return app;
    },
  };
}

/** As for users. A test about notifications or claims of tasks that it sends to an idle worker sets `directStart: false` itself. */
function isDirectStartOn(): boolean {
  return process.env["POSTHASTE_TEST_DIRECT_START"] !== "off";
}

const TOO_EARLY = "the database is there only while tests run";
