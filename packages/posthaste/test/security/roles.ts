/** A schema with its four roles, each of which can log in. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, afterEach, beforeAll } from "vitest";
import { printRoles } from "../../src/engine/print-roles.ts";
import { posthaste, type AppConfig, type Posthaste } from "../../src/index.ts";
import type { TestDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";

export const kinds = ["migrator", "producer", "worker", "reader"] as const;
export type Kind = (typeof kinds)[number];

export interface Roles {
  readonly schema: string;
  /** An app that logs in as this role and may not migrate; closed after the test. Nobody polls: what comes, was notified. */
  app(kind: Kind, config?: AppConfig): Posthaste;
  /** SQL of the test's own, as this role. */
  readonly as: (kind: Kind, text: string, values?: unknown[]) => Promise<unknown[]>;
  readonly client: (kind: Kind) => pg.Client;
  /** Of the database, as this role. */
  readonly urlOf: (kind: Kind) => string;
}

export function useRoles(db: TestDatabase): Roles {
  // Roles belong to the whole server, which other test files use too.
  const schema = `least_${randomBytes(4).toString("hex")}`;
  const apps: Posthaste[] = [];
  const clients = new Map<Kind, pg.Client>();

  const urlOf = (kind: Kind): string => {
    const url = new URL(db.url);
    url.username = `${schema}_${kind}`;
    url.password = `pw of ${kind}`;
    return url.href;
  };

  const client: Roles["client"] = (kind) => {
    const found = clients.get(kind);
    if (found === undefined) throw new Error(`${kind} is not connected`);
    return found;
  };

  const as: Roles["as"] = async (kind, text, values) =>
    (await client(kind).query(text, values)).rows as unknown[];

  beforeAll(async () => {
    await db.sql(printRoles(schema));
    for (const kind of kinds) {
      await db.sql(`alter role ${schema}_${kind} login password 'pw of ${kind}'`);
      const session = new pg.Client(urlOf(kind));
      await session.connect();
      clients.set(kind, session);
    }
    const app = posthaste({ database: urlOf("migrator"), schema, logger: silentLogger });
    await app.migrate();
    await app.close();
    await as("migrator", printRoles(schema));
  });

  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  afterAll(async () => {
    for (const session of clients.values()) await session.end();
    const names = kinds.map((kind) => `${schema}_${kind}`);
    // One at a time: PostgreSQL stumbles over default privileges that go with two of them.
    for (const name of names) await db.sql(`drop owned by ${name} cascade`);
    for (const name of names) await db.sql(`drop role ${name}`);
  });

  return {
    schema,
    as,
    client,
    urlOf,
    app(kind, config) {
      const app = posthaste({
        logger: silentLogger,
        autoMigrate: false,
        resilience: { notifyPollIntervalMs: 300_000 },
        ...config,
        schema,
        database: urlOf(kind),
      });
      apps.push(app);
      return app;
    },
  };
}
