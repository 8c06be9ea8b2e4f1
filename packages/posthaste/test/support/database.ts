/** A database of its own for a test file, copied from a migrated template, with the laws of broken-laws.ts checked after every test. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import { posthaste, type AppConfig, type Posthaste } from "../../src/index.ts";
import { Connection, type Profile } from "../../src/store/connection.ts";
import { createStore } from "../../src/store/store.ts";
import { brokenLaws } from "./broken-laws.ts";
import { silentLogger } from "./loggers.ts";
import { databaseUrl } from "./start-server.ts";

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
  const name = `t_${randomBytes(6).toString("hex")}`;
  const serverUrl = inject("serverUrl");
  const url = databaseUrl(serverUrl, name);
  const opened: { close(): Promise<void> }[] = [];
  let client: pg.Client | undefined;

  beforeAll(async () => {
    await onServer(serverUrl, (admin) =>
      admin.query(
        options.isEmpty === true
          ? `create database ${name}`
          : `create database ${name} template posthaste_template strategy file_copy`,
      ),
    );
    client = new pg.Client(url);
    await client.connect();
  });

  const sql: TestDatabase["sql"] = async <Row extends object>(text: string, values?: unknown[]) => {
    if (client === undefined) throw new Error("the database is there only while tests run");
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
    await onServer(serverUrl, (admin) =>
      admin.query(`drop database if exists ${name} with (force)`),
    );
  });

  return {
    url,
    sql,
    store: createStore("posthaste"),
    async connect(profile = "moves") {
      const connection = await Connection.open({
        url,
        profile,
        applicationName: "test",
        preparedStatements: true,
      });
      opened.push(connection);
      return connection;
    },
    app(config) {
      const app = posthaste({ logger: silentLogger, ...config, database: url });
      opened.push(app);
      return app;
    },
  };
}

async function onServer(url: string, run: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client(url);
  await admin.connect();
  try {
    await run(admin);
  } finally {
    await admin.end();
  }
}
