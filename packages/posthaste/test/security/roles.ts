/** A schema with its five roles, each of which can log in. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, afterEach, beforeAll } from "vitest";
import { printRoles } from "../../src/database/print-sql.ts";
import { posthaste, type AppConfig, type Posthaste } from "../../src/index.ts";
import type { TestDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";
import {
  createLoginRoles,
  dropLoginRoles,
  kinds,
  urlOfRole,
  type Kind,
} from "../support/login-roles.ts";

export interface Roles {
  readonly schema: string;
  /** An app of this role that may not migrate, and polls so rarely that only notifications wake it. Closed after the test. */
  app(kind: Kind, config?: AppConfig): Posthaste;
  /** Executes SQL as this role. */
  readonly as: (kind: Kind, text: string, values?: unknown[]) => Promise<unknown[]>;
  readonly client: (kind: Kind) => pg.Client;
  /** The URL of the database for this role. */
  readonly urlOf: (kind: Kind) => string;
}

export function useRoles(db: TestDatabase): Roles {
  // Roles belong to the whole server, which other test files use too.
  const schema = `least_${randomBytes(4).toString("hex")}`;
  const apps: Posthaste[] = [];
  const clients = new Map<Kind, pg.Client>();

  const urlOf = (kind: Kind): string => urlOfRole(db.url, schema, kind);

  const client: Roles["client"] = (kind) => {
    const found = clients.get(kind);
    if (found === undefined) throw new Error(`${kind} is not connected`);
    return found;
  };

  const as: Roles["as"] = async (kind, text, values) =>
    (await client(kind).query(text, values)).rows as unknown[];

  beforeAll(async () => {
    await createLoginRoles((text) => db.sql(text), schema);
    for (const kind of kinds) {
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
    await dropLoginRoles((text) => db.sql(text), schema);
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
