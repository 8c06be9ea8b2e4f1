/** Databases and schemas that Posthaste refuses before it writes anything. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { posthaste, PosthasteError } from "posthaste";
import { silentLogger } from "../support/loggers.ts";

export interface RefusedDatabasesReport {
  /** By the encoding of a database: what the start was refused with. */
  readonly encodings: Readonly<Record<string, string>>;
  /** By the name of a schema: the code that posthaste() threw. */
  readonly schemas: Readonly<Record<string, string>>;
  /** Schemas that were made in the refused databases. */
  readonly made: number;
}

/** @param serverUrl of the server's maintenance database */
export async function refusedDatabases(serverUrl: string): Promise<RefusedDatabasesReport> {
  const server = new pg.Client(serverUrl);
  await server.connect();
  const encodings: Record<string, string> = {};
  let made = 0;
  for (const encoding of ["LATIN1", "SQL_ASCII"]) {
    const name = `refused_${randomBytes(4).toString("hex")}`;
    await server.query(
      `create database ${name} encoding '${encoding}' lc_collate 'C' lc_ctype 'C' template template0`,
    );
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    try {
      encodings[encoding] = await startOn(url.href);
      made += await schemasIn(url.href);
    } finally {
      await server.query(`drop database ${name} with (force)`);
    }
  }
  await server.end();
  const schemas: Record<string, string> = {};
  for (const schema of ["pg_catalog", "pg_jobs", "information_schema"])
    schemas[schema] = codeOf(() => posthaste({ database: serverUrl, schema }));
  return { encodings, schemas, made };
}

async function startOn(url: string): Promise<string> {
  const app = posthaste({ database: url, logger: silentLogger });
  try {
    await app.ensureSchema();
    return "accepted";
  } catch (error) {
    return error instanceof PosthasteError ? `${error.code}: ${error.message}` : String(error);
  } finally {
    await app.close();
  }
}

async function schemasIn(url: string): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query("select from pg_namespace where nspname = 'posthaste'");
  await client.end();
  return rows.length;
}

function codeOf(make: () => unknown): string {
  try {
    make();
    return "accepted";
  } catch (error) {
    return error instanceof PosthasteError ? error.code : String(error);
  }
}
